import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeFolder, npmServer } from '../governance/governed-bench.ts'
import { canRunDocker, type DockerEngine, startDocker } from '../harness/container-engine.ts'
import { eventually } from '../harness/processes.ts'
import { runCommand } from '../harness/run-command.ts'
import { makePlace, type Place, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'
import { callInSession } from './call-in-session.ts'
import { type Listener, openListener } from './outside-listener.ts'

const AVAILABLE = canRunDocker()
const reaching = { command: process.execPath, args: [join(REPOSITORY, 'tests/fixtures/reaching-server.mjs')] }

let engine: DockerEngine
let allowed: Listener
let other: Listener
let place: Place
let gateway: RunningGateway
let folder: ReturnType<typeof makeFolder>

beforeAll(async () => {
  if (!AVAILABLE) return
  engine = await startDocker()
  engine.importNode('node-only:1')
  engine.docker(
    'run',
    '-d',
    '--name',
    'of-somebody-else',
    '--network',
    'none',
    '--label',
    'sallyport.state=other',
    ...IDLE,
  )
  ;[allowed, other] = [await openListener(), await openListener()]
  folder = makeFolder()
  chmodSync(folder.path, 0o755)
  writeFileSync(join(folder.path, 'pay.txt'), 'Ada earns 520138')
  place = makePlace()
  const modules = `${join(REPOSITORY, 'node_modules')}:/app/node_modules`
  place.writeConfig({
    governance: { enforce: true, escalation: { policy_violations: false } },
    sandbox: { driver: 'docker', proxied: { allow: [`127.0.0.1:${allowed.port}`] } },
    mcp_servers: {
      reaching: { ...reaching, sandbox: 'docker' },
      files: {
        ...npmServer('filesystem', folder.path),
        sandbox: 'auto',
        mounts: [folder.path],
        sensitivity: 'confidential',
      },
      memory: { ...npmServer('memory'), sandbox: 'docker', env: { MEMORY_FILE_PATH: '/tmp/memory.json' } },
      packed: {
        ...{ image: 'node-only:1', command: '/bin/node', mounts: [modules] },
        args: ['/app/node_modules/@modelcontextprotocol/server-everything/dist/index.js'],
      },
      missing: { image: 'not/there:1' },
    },
  })
  const tools = ['reaching', 'files', 'memory', 'packed'].map((id) => [`${id}/*`, { requires_approval: false }])
  writeFileSync(join(place.home, 'tools.yaml'), JSON.stringify({ tools: Object.fromEntries(tools) }))
  gateway = await start()
})

afterAll(async () => {
  if (!AVAILABLE) return
  await gateway.stop()
  expect(engine.containers('sallyport.run')).toEqual([])
  await Promise.all([allowed.close(), other.close(), engine.close()])
  folder.remove()
})

const IDLE = ['node-only:1', '/bin/node', '-e', 'setInterval(() => {}, 1000)']
const start = () => runGateway({ place, args: [], env: engine.env })
const call = (session: string, tool: string, args: object = {}): Promise<string> =>
  callInSession(gateway, { session, tool, args })
const reach = (session: string, { port }: Listener, text: string): Promise<string> =>
  call(session, 'reaching_reach', { host: '127.0.0.1', port, text })
const where = () => ['--home', place.home, '--state', place.state]
const recorded = (type: string) => gateway.records().filter((record) => record.type === type)

describe.skipIf(!AVAILABLE)(`a server in a container (${promise('SEN-11')})`, () => {
  it('reaches nothing but its proxy', async () => {
    expect(await call('anna', 'reaching_dial', { host: '127.0.0.1', port: other.port })).toMatch(/^E/)
    expect(await reach('anna', allowed, 'public-1')).toBe('200')
    expect(await reach('anna', other, 'public-2')).toBe('403')
    expect(allowed.arrived()).toContain('public-1')
    expect(other.arrived()).not.toContain('public-')
    expect(recorded('SANDBOX_STARTED')).toContainEqual(
      expect.objectContaining({ server: 'reaching', driver: 'docker', mode: 'FULL' }),
    )
  })

  it(`loses its tunnels and keeps its state when its session turns private (${promise('SEN-7')})`, async () => {
    expect(await call('ben', 'reaching_open_tunnel', { host: '127.0.0.1', port: allowed.port })).toBe('open')
    await call('ben', 'reaching_count')
    const path = join(folder.path, 'pay.txt')
    expect(await call('ben', 'files_read_text_file', { path })).toContain('Ada earns')
    expect(await reach('ben', allowed, 'confidential-1')).toBe('200')
    expect(await reach('ben', other, 'confidential-2')).toBe('403')
    await call('ben', 'reaching_send', { text: 'tunnel-1' })
    await eventually(
      () => allowed.arrived(),
      (text) => text.includes('tunnel-1'),
    )
    const raised = await runCommand(['sessions', 'raise', 'ben', 'SECRET', '--why', 'a test', ...where()])
    expect(raised.code).toBe(0)
    await call('ben', 'reaching_send', { text: 'tunnel-2' })
    expect(await reach('ben', allowed, 'secret-1')).toBe('403')
    expect(await call('ben', 'reaching_count')).toBe('2')
    expect(allowed.arrived()).not.toMatch(/tunnel-2|secret-1/)
    expect(recorded('SANDBOX_NARROWED')).toContainEqual(
      expect.objectContaining({ server: 'reaching', from: 'PROXIED', to: 'NONE', cut: 1 }),
    )
  })

  it('is a server from npm, with a memory of its own for each session', async () => {
    const entities = [{ name: 'Ada', entityType: 'person', observations: ['earns'] }]
    expect(await call('cleo', 'memory_create_entities', { entities })).toContain('Ada')
    expect(await call('cleo', 'memory_read_graph')).toContain('Ada')
    expect(await call('dora', 'memory_read_graph')).not.toContain('Ada')
  })
})

describe.skipIf(!AVAILABLE)(`a container image as a server (${promise('GW-1')})`, () => {
  it('is called like any other', async () => {
    expect(await call('anna', 'packed_echo', { message: 'from a container' })).toContain('from a container')
    const { stdout } = await runCommand(['servers', 'packed', ...where()])
    expect(stdout).toMatch(/^image +node-only:1$/m)
    expect(stdout).toMatch(/^sandbox +docker, its network follows the label of the session$/m)
  })

  it('that does not exist is refused, with what helps, and disturbs no other', async () => {
    const { stdout } = await runCommand(['servers', 'missing', ...where()])
    expect(stdout).toContain('There is no image not/there:1 in docker here. Get it with `docker pull not/there:1`')
  })

  it(`does not run where there is no engine (${promise('SEN-12')})`, async () => {
    const bin = join(place.home, 'bin')
    mkdirSync(bin)
    const config = { mcp_servers: { packed: { image: 'node-only:1' }, plain: reaching } }
    const without = await runGateway({ config, env: { PATH: bin } })
    try {
      expect(await callInSession(without, { session: 'a', tool: 'plain_count' })).toBe('1')
      const { stdout } = await runCommand(['servers', 'packed', '--home', without.home, '--state', without.state])
      expect(stdout).toContain('there is no program docker in PATH; there is no program podman in PATH')
      expect(stdout).toContain('apt-get install docker.io')
    } finally {
      await without.stop()
    }
  })
})

describe.skipIf(!AVAILABLE)(`a gateway that is killed (${promise('SEN-14')})`, () => {
  it('leaves no container, and touches those of nobody else', async () => {
    await Promise.all(['one', 'two', 'three'].map((session) => call(session, 'reaching_count')))
    const count = engine.containers('sallyport.run').length
    expect(count).toBeGreaterThanOrEqual(8)
    const startedAt = performance.now()
    gateway.child.kill('SIGKILL')
    await once(gateway.child, 'exit')
    await eventually(
      () => engine.containers('sallyport.run'),
      (left) => left.length === 0,
    )
    console.log(
      `${count} containers were gone ${Math.round(performance.now() - startedAt)} ms after the gateway was killed`,
    )
    expect(engine.docker('ps', '-q', '--filter', 'name=of-somebody-else')).not.toBe('')

    // What a crash of the machine leaves: containers of a run whose watchdog is dead too.
    const owner = readFileSync(join(place.state, 'container-owner'), 'utf8').trim()
    engine.docker('run', '-d', '--name', 'left', '--network', 'none', '--label', `sallyport.state=${owner}`, ...IDLE)
    gateway = await start()
    await eventually(
      () => engine.docker('ps', '-aq', '--filter', 'name=left'),
      (left) => left === '',
    )
    expect(await call('anna', 'reaching_count')).toBe('1')
    expect(engine.docker('ps', '-q', '--filter', 'name=of-somebody-else')).not.toBe('')
  })
})
