import { type ChildProcess, execFile } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findInPath } from '../../packages/gateway/src/sandbox/files/find-in-path.ts'
import { canRunDocker, type DockerEngine, startDocker } from '../harness/container-engine.ts'
import { packLibraries } from '../harness/pack-packages.ts'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import { endProcess, readRecords } from '../harness/run-gateway.ts'
import { StdioClient } from '../harness/stdio-client.ts'
import { readSteps } from '../harness/walk-through.ts'
import { promise } from '../promises.ts'
import {
  canBuildNetworks,
  type Network,
  openNetwork,
  run,
  SALLYPORT,
  type Start,
  start,
} from '../sandbox/sandbox-world.ts'

const AVAILABLE = canRunDocker('with compose') && canBuildNetworks()
const execute = promisify(execFile)

/** The project of `sallyport new server`, in containers of a real engine, with a second network as the internet. */
describe.skipIf(!AVAILABLE)(`two instances of a new server in containers (${promise('KIT-16')})`, () => {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-containers-'))
  const project = join(root, 'tea-house')
  const [home, state] = [join(root, 'home'), join(root, 'state')]
  let network: Network
  let engine: DockerEngine
  let gateway: ChildProcess
  let client: StdioClient

  const environment = () => ({ ...engine.env, NODE_IMAGE: 'node-npm:1' })
  const options = (): Start => ({ user: 'root', folder: root, network, env: environment(), cwd: project })
  const shell = async (script: string): Promise<void> => {
    const { code, stdout, stderr } = await run(['sh', '-ec', script], options())
    if (code !== 0) throw new Error(`${script}\n${stdout}\n${stderr}`)
  }
  const compose = (...args: readonly string[]) => run(['docker-compose', ...args], options())
  const inside = (service: string, script: string): string =>
    engine.docker('exec', `tea-house_${service}_1`, 'node', '--input-type=module', '--eval', script)
  /** A gateway that could not connect yet tries again. */
  const untilAnswered = (tool: string, args: object, part: string): Promise<unknown> =>
    eventually(
      async () => (await client.request('tools/call', { name: tool, arguments: args })).result,
      (result) => result?.isError !== true && result?.content?.[0]?.text.includes(part),
    )

  beforeAll(async () => {
    expect((await runCommand(['new', 'server', '@acme/tea-house'], { cwd: root })).code).toBe(0)
    await installOffline()
    network = await openNetwork()
    engine = await startDocker(network.enter)
    createBaseImage()
    const [secretStep = '', startStep = ''] = readSteps(readFileSync(join(project, 'README.md'), 'utf8'))
      .map(({ commands }) => commands)
      .filter((commands) => commands.includes('.env'))
    await shell(secretStep)
    const [, secret = ''] = /GATEWAY_SECRET=(.*)/.exec(readFileSync(join(project, '.env'), 'utf8')) ?? []
    await openGateway(secret)
    // Debian has the first version of Compose, which is a program of its own.
    await shell(startStep.replaceAll('docker compose', 'docker-compose'))
  }, 300_000)

  afterAll(async () => {
    await client.leave()
    await endProcess(gateway)
    await compose('down', '--volumes', '--timeout', '2')
    const left = engine.containers()
    await engine.close()
    await network.close()
    rmSync(root, { recursive: true, force: true })
    expect(left).toEqual([])
  })

  /** All that `npm ci` needs in the image, which has no registry: our packages in the project, the others in a cache. */
  async function installOffline(): Promise<void> {
    const packages = join(project, 'packages')
    mkdirSync(packages)
    const own = (await packLibraries(packages)).map((path) => `./packages/${path.split('/').at(-1)}`)
    const cache = ['--cache', join(root, 'image/npm-cache'), '--omit-lockfile-registry-resolved=false']
    await execute('npm', ['install', '--no-audit', '--no-fund', ...cache, ...own], { cwd: project })
  }

  /** Like `node:24-slim`: Node, npm and a shell. */
  function createBaseImage(): void {
    const programs = ['/bin/sh', '/usr/bin/env', '/bin/mkdir', '/bin/chown']
    engine.importNode('node-only:1', { programs })
    const npm = realpathSync(findInPath('npm', process.env.PATH) ?? '')
    cpSync(join(dirname(npm), '..'), join(root, 'image/npm'), { recursive: true })
    const lines = [
      ...['FROM node-only:1', 'COPY npm /lib/npm', 'COPY npm-cache /npm-cache'],
      'ENV npm_config_offline=true npm_config_cache=/npm-cache HOME=/tmp',
      'RUN printf \'#!/bin/sh\\nexec node /lib/npm/bin/npm-cli.js "$@"\\n\' >/bin/npm && node -e "fs.chmodSync(\'/bin/npm\', 493)"',
    ]
    writeFileSync(join(root, 'image/Dockerfile'), `${lines.join('\n')}\n`)
    engine.docker('build', '--quiet', '--tag', 'node-npm:1', join(root, 'image'))
  }

  async function openGateway(secret: string): Promise<void> {
    mkdirSync(home)
    const [, entry = ''] =
      /```yaml\n(mcp_servers:[\s\S]*?)```/.exec(readFileSync(join(project, 'README.md'), 'utf8')) ?? []
    writeFileSync(join(home, 'config.yaml'), `gateway: { startup_wait: 50s }\n${entry}`)
    const tools = { 'tea-house/count_words': {}, 'tea-house/keep_note': { sensitivity: 'CONFIDENTIAL' } }
    const open = Object.entries(tools).map(([name, rule]) => [name, { requires_approval: false, ...rule }])
    writeFileSync(join(home, 'tools.yaml'), JSON.stringify({ tools: Object.fromEntries(open) }))
    const serve = [...SALLYPORT, 'serve', '--home', home, '--state', state]
    const withSecret = { ...options(), env: { GATEWAY_SECRET: secret } }
    gateway = start(serve, withSecret)
    await once(gateway.stdout as NodeJS.ReadableStream, 'data')
    client = new StdioClient(start([...serve, '--stdio'], withSecret))
    await client.initialize()
  }

  const CONNECT = (host: string, port: number): string => `
    import { connect } from 'node:net'
    import { once } from 'node:events'
    const socket = connect(${port}, ${JSON.stringify(host)})
    await once(socket, 'connect').then(() => console.log('connected'), ({ code }) => console.log(code))
    socket.destroy()`

  it(`answer through a gateway, and a session with private data moves to the one without a network (${promise('SEN-15')})`, async () => {
    await untilAnswered('tea_house_count_words', { text: 'a cup of tea' }, '4')
    await untilAnswered('tea_house_keep_note', { note: 'the price is 520138' }, 'notes.txt')
    await untilAnswered('tea_house_count_words', { text: 'green tea' }, '2')
    const instances = readRecords(state).flatMap(({ type, instance }) =>
      type === 'TOOL_CALL_COMPLETED' ? [instance] : [],
    )
    expect(instances.slice(-3)).toEqual(['normal', 'isolated', 'isolated'])
    const files = "import { readdirSync } from 'node:fs'; console.log(readdirSync('/data', { recursive: true }).join())"
    expect(inside('none', files)).toContain('notes.txt')
    expect(inside('full', files)).not.toContain('notes.txt')
  })

  it(`are one image, and only one of them reaches the internet and this machine (${promise('SEN-16')})`, async () => {
    const { v4, v6, port } = network
    const image = (service: string) => engine.docker('inspect', '--format', '{{.Image}}', `tea-house_${service}_1`)
    expect(image('none')).toBe(image('full'))
    const seen = await network.arrivals(async () => expect(inside('full', CONNECT(v4, port))).toBe('connected'))
    expect(seen).toEqual([`tcp ::ffff:${v4}`])
    const gatewayOfBridge = engine.docker(
      'inspect',
      '--format',
      '{{range .NetworkSettings.Networks}}{{.Gateway}}{{end}}',
      'tea-house_full_1',
    )
    const closed = await network.arrivals(async () => {
      for (const host of [v4, v6, '10.77.0.2', '169.254.169.254', '11.0.0.1', gatewayOfBridge])
        expect(inside('none', CONNECT(host, port)), host).toMatch(/^E(NETUNREACH|ADDRNOTAVAIL)$/)
    })
    expect(closed).toEqual([])
    const links = "import { readdirSync } from 'node:fs'; console.log(readdirSync('/sys/class/net').join())"
    expect(inside('none', links)).toBe('lo')
  })

  it('take no request without the secret of the gateway, and write to nothing but their data', async () => {
    for (const port of [8_000, 8_001]) {
      const args = ['curl', '-s', '-o', '/dev/null', '-w', '%{http_code}', '-d', '{}', `http://127.0.0.1:${port}/mcp`]
      expect((await run(args, options())).stdout).toBe('401')
    }
    const write = (path: string): string =>
      `import { writeFileSync } from 'node:fs'; try { writeFileSync('${path}', '') } catch ({ code }) { console.log(code) }`
    for (const service of ['full', 'none']) expect(inside(service, write('/app/dist/src/server.js'))).toBe('EROFS')
    expect(inside('front', write('/run/mcp/new'))).toBe('EROFS')
  })

  it('serve again after they were killed', async () => {
    engine.docker('kill', 'tea-house_none_1')
    engine.docker('start', 'tea-house_none_1')
    await untilAnswered('tea_house_count_words', { text: 'one' }, '1')
  })

  it('are not started without the secret and the keys', async () => {
    const empty = join(root, 'empty')
    writeFileSync(empty, '')
    const { code, stderr } = await compose('--env-file', empty, 'config')
    expect(code).not.toBe(0)
    expect(stderr).toContain('README.md says')
  })
})
