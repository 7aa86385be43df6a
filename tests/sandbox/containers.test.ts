import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Forward } from '../../packages/gateway/src/sandbox/drivers/driver.ts'
import { canRunDocker, type DockerEngine, startDocker } from '../harness/container-engine.ts'
import { eventually } from '../harness/processes.ts'
import { REPOSITORY } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { describeNetworkModes, type Reach } from './network-table.ts'
import {
  canBuildNetworks,
  makeUserFolder,
  probe,
  run,
  SALLYPORT,
  type Start,
  sandboxed,
  start as startProgram,
  type User,
} from './sandbox-world.ts'

const AVAILABLE = canRunDocker() && canBuildNetworks()
const FIXTURE = join(REPOSITORY, 'tests/fixtures/run-in-container.mjs')

interface Options extends Partial<Reach> {
  readonly image?: string
  readonly mounts?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly forwards?: readonly Forward[]
}

describe.skipIf(!AVAILABLE)('containers', () => {
  let engine: DockerEngine
  const folder = makeUserFolder('root')
  beforeAll(async () => {
    engine = await startDocker()
    engine.importNode('node-only:1')
  })
  afterAll(async () => {
    expect(engine.containers()).toEqual([])
    await engine.close()
    folder.remove()
  })

  const wrap = (options: Options, command: readonly string[]): readonly string[] => [
    ...[process.execPath, FIXTURE, JSON.stringify({ state: folder.path, ...options })],
    ...command,
  ]
  const start = (env: Start['env'] = {}): Start => ({
    ...{ user: 'root' as User, folder: folder.path },
    env: { ...engine.env, ...env },
  })
  const inside = (options: Options, command: readonly string[], env?: Start['env']) =>
    run(wrap(options, command), start(env))

  describeNetworkModes(`a program of this machine in a container of Docker (${promise('SEN-11')})`, {
    ...{ start, wrap, explains: false },
  })

  describe(`what a program in a container sees and may do (${promise('SEN-13')})`, () => {
    const ask = async (options: Options, ...words: readonly string[]): Promise<string> => {
      const { stdout, stderr } = await inside(options, probe(...words))
      return stdout.trim() || stderr.trim()
    }

    it('has a system that cannot be written, private folders in memory, and no file of the user', async () => {
      writeFileSync(join(folder.path, 'secret.txt'), 'x')
      const script = `
        const fs = require('node:fs')
        const can = (work) => { try { work(); return 'yes' } catch (error) { return error.code } }
        const write = (path) => can(() => fs.writeFileSync(path, 'x'))
        console.log(JSON.stringify({
          usr: write('/usr/x'), root: write('/x'), etc: write('/etc/hosts'), sys: write('/proc/sys/kernel/core_pattern'),
          tmp: write('/tmp/x'), home: write(process.env.HOME + '/x'), workspace: write('/workspace/x'), shm: write('/dev/shm/x'),
          secret: can(() => fs.readFileSync(process.argv[1])), docker: can(() => fs.statSync(process.argv[2])),
          user: process.getuid(), variables: Object.keys(process.env).filter((name) => /DOCKER|SECRET/.test(name)),
          programs: fs.readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).length < 4,
        }))`
      const words = [join(folder.path, 'secret.txt'), engine.env.DOCKER_HOST.replace('unix://', '')]
      const { stdout, stderr } = await inside({}, [process.execPath, '-e', script, ...words], { SECRET: 'x' })
      expect(stderr).toBe('')
      const denied = expect.stringMatching(/^E(ROFS|ACCES)$/)
      expect(JSON.parse(stdout)).toEqual({
        ...{ usr: denied, root: denied, etc: denied, sys: denied },
        ...{ tmp: 'yes', home: 'yes', workspace: 'yes', shm: 'yes', secret: 'ENOENT', docker: 'ENOENT' },
        ...{ user: 1_000, variables: [], programs: true },
      })
    })

    it('sees what is mounted, and writes only where that is asked for', async () => {
      const data = join(folder.path, 'data, "with" marks')
      mkdirSync(data)
      writeFileSync(join(data, 'a.txt'), 'x')
      for (const path of [data, join(data, 'a.txt')]) chmodSync(path, 0o777)
      const file = '/data/a.txt'
      expect(await ask({ mounts: [`${data}:/data`] }, 'read', file)).toBe('yes')
      expect(await ask({ mounts: [`${data}:/data`] }, 'open', file)).toBe('no EROFS')
      expect(await ask({ mounts: [`${data}:/data:rw`] }, 'open', file)).toBe('yes')
    })

    it('gets its variables, also one of several lines, and none of them is in a command line', async () => {
      const env = { ONE: 'a "b" $c', LINES: 'a\nb' }
      const print = 'console.log(JSON.stringify([process.env.ONE, process.env.LINES]))'
      expect((await inside({ env }, [process.execPath, '-e', print])).stdout).toBe(
        `${JSON.stringify(Object.values(env))}\n`,
      )
      const refused = await inside({ env: { DOCKER_HOST: 'a\nb' } }, ['true'])
      expect(refused).toMatchObject({ code: 5 })
      expect(refused.stderr).toContain('The variable DOCKER_HOST cannot be given to a container')
    })

    it('reaches a listed host through a port of its own, and no other', async () => {
      const server = createServer((_, response) => response.end('from a forward'))
      await once(server.listen(0, '127.0.0.1'), 'listening')
      const { port } = server.address() as AddressInfo
      const forwards = [{ listen: 5_432, host: '127.0.0.1', port }]
      const ask = (allow: readonly string[]) =>
        inside({ mode: 'PROXIED', allow, forwards }, ['curl', '-s', '--noproxy', '*', 'http://127.0.0.1:5432/'])
      expect((await ask([`127.0.0.1:${port}`])).stdout).toBe('from a forward')
      expect((await ask(['other.example'])).stdout).toBe('')
      await once(server.close(), 'close')
    })

    it('runs the program of an image, as an ordinary user, with nothing of this machine', async () => {
      const script = `console.log(process.getuid(), require('node:fs').existsSync('/usr/share'), process.env.PATH, process.env.HOME)`
      const { stdout, stderr } = await inside({ image: 'node-only:1' }, ['/bin/node', '-e', script])
      expect({ stdout, stderr }).toMatchObject({ stdout: expect.stringMatching(/^1000 false \S+ \/tmp\/home\n$/) })
    })

    it('says which image is missing', async () => {
      const { stderr } = await inside({ image: 'not/there:1' }, ['node'])
      expect(stderr).toContain('There is no image not/there:1 in docker here.')
    })
  })

  describe(`run-sandboxed with containers (${promise('SEN-18')})`, () => {
    const tool = (flags: readonly string[], command: readonly string[], input = '') =>
      run(sandboxed(flags, command), { ...start(), input })

    it('passes streams, arguments and the exit code of a program of this machine through', async () => {
      const command = ['sh', '-c', 'cat; echo "$1" >&2; exit 7', 'sh', 'words']
      expect(await tool(['--driver', 'docker'], command, 'input')).toEqual({
        ...{ code: 7, stdout: 'input', stderr: 'words\n' },
      })
    })

    it('runs the program of an image, whose network it decides about, and ends without its input', async () => {
      const image = ['--image', 'node-only:1']
      expect(await tool(image, ['/bin/node', '--print', 'process.getuid()'])).toMatchObject({
        code: 0,
        stdout: '1000\n',
      })
      const fetching = ['/bin/node', '--eval', `fetch('http://192.0.2.1/').catch(() => process.exit(3))`]
      const refused = await tool(image, fetching)
      expect(refused.code).toBe(3)
      expect(refused.stderr).toContain('A connection to 192.0.2.1:80 was refused')
      const child = startProgram(sandboxed(image, ['/bin/node', '--eval', '']), start())
      expect(await once(child, 'exit')).toEqual([0, null])
    })

    it('uses an engine by itself where bubblewrap does not work', async () => {
      const PATH = join(folder.path, 'without')
      mkdirSync(PATH)
      const docker = spawnSync('which', ['docker'], { encoding: 'utf8' }).stdout.trim()
      symlinkSync(docker, join(PATH, 'docker'))
      const { stdout } = await run(sandboxed([], ['/bin/echo', 'it ran']), start({ PATH }))
      expect(stdout).toBe('it ran\n')
      const checked = await run([...SALLYPORT, 'sandbox', 'check'], start({ PATH }))
      expect(checked.code).toBe(0)
      expect(checked.stdout).toMatch(/^! sandbox bubblewrap +there is no program bwrap/m)
      expect(checked.stdout).toMatch(/^✓ sandbox docker/m)
      expect(checked.stdout).toMatch(/^✓ sandbox auto +Programs are isolated by docker; images are run by docker$/m)
    })

    it('leaves no container if it is killed', async () => {
      const command = ['/bin/node', '--eval', 'console.log("ready"); setInterval(() => {}, 1000)']
      const child = startProgram(sandboxed(['--image', 'node-only:1'], command), start())
      await once(child.stdout as NodeJS.ReadableStream, 'data')
      expect(engine.containers()).toHaveLength(2)
      child.kill('SIGKILL')
      await eventually(
        () => engine.containers(),
        (left) => left.length === 0,
      )
    })

    it.each([
      [['--image=--privileged'], 'is not a valid name of an image'],
      [['--image', 'node-only:1', '--driver', 'bubblewrap'], 'bubblewrap runs programs of this machine, and no images'],
      [['--image', 'not/there:1'], 'There is no image not/there:1 in docker here'],
      [['--driver', 'docker'], 'There is no program to run'],
    ])('refuses %j', async (flags, message) => {
      const { code, stdout, stderr } = await tool(flags, [])
      expect(code).toBeGreaterThan(0)
      expect(stdout).toBe('')
      expect(stderr).toContain(message)
    })
  })

  describe('a gateway of an ordinary user who may use the engine', () => {
    const own = makeUserFolder('an ordinary user')
    const workspace = join(own.path, 'workspace')
    const other = join(own.path, 'other')
    const byUser = (env: Start['env'] = {}): Start => ({
      ...{ user: 'an ordinary user', folder: own.path, env: { ...engine.env, ...env } },
    })
    const write = `
      const fs = require('node:fs')
      fs.mkdirSync('/workspace/private', { mode: 0o700 })
      fs.writeFileSync('/workspace/private/note', 'x')
      console.log(process.getuid())`
    const inOwnUser = (env?: Start['env']) => {
      const options = { state: own.path, image: 'own-user:1', mounts: [`${workspace}:/workspace:rw`] }
      return run([process.execPath, FIXTURE, JSON.stringify(options), '/bin/node', '-e', write], byUser(env))
    }
    beforeAll(async () => {
      chmodSync(engine.env.DOCKER_HOST.replace('unix://', ''), 0o666)
      chmodSync(join(engine.env.DOCKER_HOST.replace('unix://', ''), '..'), 0o755)
      engine.importNode('own-user:1', { changes: ['USER 2000'] })
      await run(['mkdir', workspace, other], byUser())
    })
    afterAll(() => own.remove())

    it('runs an image with a user of its own as the user of the gateway, who can remove what it wrote', async () => {
      expect(await inOwnUser()).toMatchObject({ code: 0, stdout: '65534\n', stderr: '' })
      expect(await run(['rm', '-r', join(workspace, 'private')], byUser())).toMatchObject({ code: 0, stderr: '' })
    })

    it(`asks the kernel what is mounted in it (${promise('SEN-12')})`, async () => {
      const PATH = writeDocker(
        'exchanging',
        `if [ "$1" = create ]; then all=" $(printf '%q ' "$@")"; eval "exec $real \${all//source=${workspace.replaceAll('/', '\\/')}/source=${other.replaceAll('/', '\\/')}}"; fi`,
      )
      chmodSync(join(PATH.split(':')[0] ?? '', '..'), 0o755)
      const { code, stderr } = await inOwnUser({ PATH })
      expect(stderr).toContain('/workspace is not what was checked before')
      expect(code).toBe(5)
    })
  })

  /** A docker that changes what it was asked for, as a broken or an exchanged one would. */
  function writeDocker(name: string, script: string): string {
    const path = join(folder.path, name)
    mkdirSync(path)
    const real = spawnSync('which', ['docker'], { encoding: 'utf8' }).stdout.trim()
    writeFileSync(join(path, 'docker'), `#!/bin/bash\nreal=${real}\n${script}\nexec $real "$@"\n`, { mode: 0o755 })
    return `${path}:${process.env.PATH}`
  }

  describe(`before a program gets any input (${promise('SEN-12')})`, () => {
    const swap = (from: string, to: string): string =>
      `if [ "$1" = create ]; then all=" $(printf '%q ' "$@")"; all=\${all/ ${from} / ${to} }; eval "exec $real $all"; fi`

    it.each([
      ['shares the network of this machine', swap('--network none', '--network host'), 'its network is host'],
      [
        'shares the network of this machine and denies it',
        `${swap('--network none', '--network host')}
         if [ "$2" = inspect ]; then $real "$@" | sed 's/"NetworkMode": "host"/"NetworkMode": "none"/'; exit; fi`,
        'it shares the net namespace of this machine',
      ],
      ['can write to its system', swap('--read-only', ''), 'it can write to /'],
      ['is privileged', swap('--read-only', '--read-only --privileged'), 'it is privileged'],
      ['keeps capabilities', swap('--cap-drop ALL', ''), 'it has capabilities (CapBnd)'],
      ['runs as root', swap('--user 1000:1000', '--user 0:0'), 'it runs as another user'],
      ['may gain privileges', swap('--security-opt no-new-privileges', ''), 'it may gain privileges'],
      ['sees more', swap('--read-only', '--read-only -v /boot:/boot:ro'), 'it sees /boot, which it should not'],
      [
        'has another filter of system calls',
        `for word do case $word in seccomp=*) echo '{"defaultAction":"SCMP_ACT_ALLOW"}' >\${word#seccomp=};; esac; done`,
        'its system calls are not filtered as they should be',
      ],
      ['has no limits', swap('--pids-limit 1024', ''), 'the number of its processes is not limited'],
    ])('a container that %s is refused', async (_, script, message) => {
      const PATH = writeDocker(message.replaceAll(/\W/g, ''), script)
      const { code, stdout, stderr } = await inside({}, ['echo', 'it ran'], { PATH })
      expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
      expect(stderr).toContain(message)
    })

    it('the same without a change is accepted', async () => {
      const PATH = writeDocker('honest', swap('--read-only', '--read-only'))
      expect(await inside({}, ['echo', 'it ran'], { PATH })).toMatchObject({ code: 0, stdout: 'it ran\n' })
    })

    it.each([
      ['on another machine', { DOCKER_HOST: 'tcp://127.0.0.1:9' }, 'docker: '],
      ['that is not installed', { PATH: '/nowhere' }, 'there is no program docker in PATH'],
    ])('an engine %s is refused', async (_, env, message) => {
      const [program = '', ...rest] = wrap({}, ['/bin/echo', 'it ran'])
      const { code, stdout, stderr } = await run([program, ...rest], start(env))
      expect({ code, stdout }).toEqual({ code: 5, stdout: '' })
      expect(stderr).toContain(`Programs cannot run in network mode NONE here: ${message}`)
    })
  })
})
