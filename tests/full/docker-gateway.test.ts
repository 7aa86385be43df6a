import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { errorCode, type FaultBench, type Json, openFaultBench, textOf } from '../faults/fault-bench.ts'
import { modernRequest } from '../harness/mcp-client.ts'
import { eventually, processesWith } from '../harness/processes.ts'
import { errorOf, runCommand } from '../harness/run-command.ts'
import { makePlace, REPOSITORY } from '../harness/run-gateway.ts'
import { isToolChange } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

const STAND_IN = join(REPOSITORY, 'tests/fixtures/docker-gateway.mjs')
const META = ['mcp-find', 'mcp-add', 'mcp-remove', 'mcp-config-set', 'mcp-exec', 'code-mode', 'mcp-create-profile']
const ALL_META = [...META, 'mcp-activate-profile', 'find-tools', 'mcp-registry-import']

/** Lists do not wait long for a server that never becomes ready. */
const IMPATIENT = { settings: { gateway: { startup_wait: '1s' } } }

/** A folder for what the stand-ins note, with a program `docker` in it. */
let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-docker-'))
  symlinkSync(STAND_IN, join(folder, 'docker'))
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const notesFile = (id: string): string => join(folder, `${id}.jsonl`)

/** What a stand-in was given and asked, in order. */
function notesOf(id: string): readonly Json[] {
  const lines = readFileSync(notesFile(id), 'utf8').split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as Json)
}

interface StandIn {
  readonly mode?: string
  readonly gate?: string
}

/** An entry whose gateway is the stand-in. */
function standIn(id: string, more: Json = {}, { mode = '', gate = '' }: StandIn = {}): object {
  const env = { STAND_IN: mode, STAND_IN_GATE: gate, STAND_IN_NOTES: notesFile(id) }
  const command = [process.execPath, STAND_IN, 'mcp', 'gateway', 'run']
  return { type: 'docker-gateway', command, ...more, env: { ...env, ...more.env } }
}

describe('a Docker MCP Gateway', () => {
  let bench: FaultBench

  beforeAll(async () => {
    const servers = {
      chosen: standIn('chosen', { enabled_servers: ['github', 'duckduckgo'], block_network: true }),
      closed: standIn('closed'),
      open: standIn('open', { includeTools: ['*', 'mcp-exec', 'mcp-find'], excludeTools: ['delete_*'] }),
      pasted: {
        command: join(folder, 'docker'),
        args: ['mcp', 'gateway', 'run'],
        env: { STAND_IN_NOTES: notesFile('pasted') },
      },
    }
    bench = await openFaultBench(servers, { env: { DOCKER_HOST: 'unix:///d.sock', DOCKER_PASSWORD: 'secret' } })
    await Promise.all(['chosen', 'closed', 'open', 'pasted'].map((id) => bench.until(id, 'ready')))
  })

  afterAll(() => bench.close())
  afterEach(() => bench.expectUnharmed())

  const namesOf = async (server: string): Promise<readonly string[]> =>
    (await bench.window.toolNames()).filter((name) => name.startsWith(`${server}_`))

  /** What the last record of a call to this server says. */
  const lastRecord = (server: string): Json =>
    bench.gateway.records().findLast((record) => record.server === server) ?? {}

  const exec = (args: object): Promise<Json> => bench.window.call('open_mcp_exec', args)

  it(`${promise('GW-11')} is started with the options of its entry, and its tools are listed and called`, async () => {
    expect(notesOf('chosen')[0]?.argv).toEqual([
      ...['mcp', 'gateway', 'run', '--servers', 'github,duckduckgo', '--block-network=true'],
    ])
    expect(await namesOf('chosen')).toEqual(['chosen_search', 'chosen_delete_repo', 'chosen_post', 'chosen_die'])
    expect(textOf(await bench.window.call('chosen_search', { q: 1 }))).toBe('search {"q":1}')
    expect(await bench.server('chosen')).toMatchObject({ kind: 'docker-gateway', era: 'legacy' })
  })

  it(`${promise('GW-9')} gets the variables for its daemon, and no secrets of the environment`, async () => {
    const [{ environment } = {}] = notesOf('chosen')
    expect(environment).toContain('DOCKER_HOST')
    expect(environment).not.toContain('DOCKER_PASSWORD')
    expect(environment).not.toContain('MCP_GATEWAY_AUTH_TOKEN')
  })

  it(`${promise('GW-11')} has its meta tools neither listed nor called, unless they are named`, async () => {
    for (const server of ['closed', 'pasted']) {
      expect(await namesOf(server)).toEqual(['search', 'delete_repo', 'post', 'die'].map((name) => `${server}_${name}`))
      for (const name of ALL_META) {
        const result = await bench.window.call(`${server}_${name.replaceAll('-', '_')}`, { name: 'search' })
        expect(errorCode(result)).toBe('CALL_DENIED')
        expect(result.content[0].text).toContain(`name it in includeTools, as ["*", "${name}"]`)
        expect(lastRecord(server)).toMatchObject({ type: 'POLICY_DENIED', tool_name: `mcp__${server}__${name}` })
      }
      expect(notesOf(server).filter(({ called }) => called !== undefined)).toEqual([])
    }
    expect(await namesOf('open')).toEqual(['open_search', 'open_post', 'open_die', 'open_mcp_find', 'open_mcp_exec'])
  })

  it(`${promise('GW-11')} has mcp-exec checked and recorded as the tool inside, and receives the call unchanged`, async () => {
    const result = await exec({ name: 'search', arguments: { q: 2 } })
    expect(textOf(result)).toBe('search {"q":2}')
    expect(notesOf('open').slice(-2)).toEqual([
      { called: 'mcp-exec', args: { name: 'search', arguments: { q: 2 } } },
      { called: 'search', args: { q: 2 } },
    ])
    const [started, completed] = bench.gateway
      .records()
      .filter(({ call_id }) => call_id !== undefined)
      .slice(-2)
    expect(started).toMatchObject({ type: 'TOOL_CALL_STARTED', server: 'open', tool_name: 'mcp__open__search' })
    expect(completed).toMatchObject({ type: 'TOOL_CALL_COMPLETED', tool_name: 'mcp__open__search', success: true })
    const dry = { tool: 'open/mcp-exec', arguments: { name: 'delete_repo' }, dryRun: true }
    expect(await bench.api('/call', dry)).toMatchObject({ outcome: 'deny', decidedBy: { step: 'select' } })
  })

  it.each([
    ['a tool that the entry excludes', { name: 'delete_repo' }, 'does not include this tool', 'delete_repo'],
    ['a tool that is not listed', { name: 'unlisted' }, '"unlisted", which server open does not list', 'mcp-exec'],
    ['itself', { name: 'mcp-exec', arguments: { name: 'search' } }, 'may not run itself', 'mcp-exec'],
    ['itself in another spelling', { name: 'MCP_EXEC' }, 'may not run itself', 'mcp-exec'],
    ['a meta tool that is closed', { name: 'code-mode' }, 'as ["*", "code-mode"]', 'code-mode'],
    ['two names', { name: 'search', Name: 'delete_repo' }, 'nothing else; got "Name"', 'mcp-exec'],
    ['a name with spaces around', { name: ' delete_repo' }, 'the exact name', 'mcp-exec'],
    ['arguments as a text', { name: 'search', arguments: '{}' }, 'as an object', 'mcp-exec'],
    ['no name', { arguments: {} }, 'the name of a tool as a string', 'mcp-exec'],
    ['a wire name', { name: 'open_search' }, 'does not list', 'mcp-exec'],
  ])(`${promise('GW-11')} is not asked when mcp-exec wants %s`, async (_, args, reason, recorded) => {
    const before = notesOf('open').length
    const result = await exec(args)
    expect(errorCode(result)).toBe('CALL_DENIED')
    expect(result.content[0].text).toContain(reason)
    expect(lastRecord('open')).toMatchObject({ type: 'POLICY_DENIED', tool_name: `mcp__open__${recorded}` })
    expect(notesOf('open')).toHaveLength(before)
  })

  it(`${promise('GW-21')} is not asked when a request names two tools, one of them in capitals`, async () => {
    const before = notesOf('closed').length
    const smuggled = [
      { name: 'closed_search', Name: 'mcp-exec', arguments: { name: 'delete_repo' } },
      { name: 'closed_search', arguments: {}, ARGUMENTS: { name: 'delete_repo' } },
      { name: 'closed_search', arguments: {}, 'argument\u017f': { name: 'delete_repo' } },
    ]
    for (const params of smuggled) {
      const legacy = await bench.window.request('tools/call', params)
      const modern = await modernRequest(bench.gateway.mcp, 'tools/call', params)
      for (const { error } of [legacy, modern.message]) expect(error).toMatchObject({ code: -32602 })
    }
    expect(notesOf('closed')).toHaveLength(before)
  })

  it(`${promise('GW-11')} may refuse a call by rules of its own, which counts as a denial`, async () => {
    const result = await bench.window.call('chosen_post', { text: 'ghp_secret' })
    expect(errorCode(result)).toBe('CALL_DENIED')
    expect(result.content[0].text).toContain('a secret is being passed to tool post')
    const [denied, failed] = bench.gateway
      .records()
      .filter(({ call_id }) => call_id !== undefined)
      .slice(-2)
    expect(denied).toMatchObject({ type: 'POLICY_DENIED', tool_name: 'mcp__chosen__post', error: 'CALL_DENIED' })
    expect(failed).toMatchObject({ type: 'TOOL_CALL_FAILED', error: 'CALL_DENIED' })
    expect(await bench.server('chosen')).toMatchObject({ state: 'ready', restarts: 0 })
  })

  it(`${promise('GW-11')} comes back when it dies`, async () => {
    expect(errorCode(await bench.window.call('closed_die'))).toBe('UPSTREAM_DIED')
    await eventually(
      () => bench.server('closed'),
      ({ state, restarts }) => state === 'ready' && restarts === 1,
    )
    expect(textOf(await bench.window.call('closed_search'))).toBe('search {}')
  })
})

describe('a Docker MCP Gateway that cannot run', () => {
  let bench: FaultBench

  beforeAll(async () => {
    bench = await openFaultBench({
      'no-docker': { type: 'docker-gateway', env: { PATH: '/nowhere' } },
      'no-plugin': standIn('no-plugin', {}, { mode: 'no-plugin' }),
      'no-daemon': standIn('no-daemon', { transport: 'streaming' }, { mode: 'no-daemon' }),
      'old-plugin': standIn('old-plugin', { static: true }, { mode: 'old-plugin' }),
    })
  })

  afterAll(() => bench.close())

  it.each([
    ['no-docker', 'there is no program docker in PATH', 'Install Docker with its MCP plugin'],
    ['no-plugin', 'this Docker has no `mcp` plugin', 'Install it with Docker Desktop'],
    ['no-daemon', 'the Docker daemon does not run', 'Start Docker, or correct DOCKER_HOST'],
    ['old-plugin', 'does not know one of the options', 'Update it'],
  ])(`${promise('GW-11')} reports why and what to do, and affects no other server: %s`, async (id, why, fix) => {
    const { state, reason } = await eventually(
      () => bench.server(id),
      (server) => server.reason !== undefined,
    )
    expect(['restarting', 'broken']).toContain(state)
    expect(reason).toContain(why)
    expect(reason).toContain(fix)
    await bench.expectUnharmed()
    expect(textOf(await bench.window.call('good_echo', { still: 'here' }))).toBe('{"still":"here"}')
  })
})

describe.each(['stdio', 'streaming'])('a Docker MCP Gateway that takes long to start, over %s', (transport) => {
  const id = `slow-${transport}`
  const search = `slow_${transport}_search`
  let bench: FaultBench

  afterEach(() => bench.close())

  it(`${promise('GW-11')} does not fail when callers give up waiting, and is available when it is ready`, async () => {
    const gate = join(folder, `${id}.gate`)
    const timeouts = { startup: '200ms', idle: '100ms' }
    bench = await openFaultBench({ [id]: standIn(id, { transport, timeouts }, { mode: 'gate', gate }) }, IMPATIENT)
    const changed = bench.window.next(isToolChange)
    expect(await bench.window.toolNames()).toContain('good_echo')
    writeFileSync(gate, '')
    await changed
    await bench.until(id, 'stopped')
    rmSync(gate)
    expect(errorCode(await bench.window.call(search))).toBe('UPSTREAM_STARTING')
    expect(await bench.server(id)).toMatchObject({ state: 'starting', restarts: 0 })
    writeFileSync(gate, '')
    await bench.until(id, 'ready')
    // On a busy machine it may have been idle already, and starts again.
    const answer = await eventually(
      () => bench.window.call(search),
      (result) => result.isError !== true || errorCode(result) !== 'UPSTREAM_STARTING',
    )
    expect(textOf(answer)).toBe('search {}')
    expect(bench.gateway.records().filter(({ type }) => type === 'UPSTREAM_LOST')).toEqual([])
  })

  it(`${promise('GW-6')} is ended with the gateway even while it starts`, async () => {
    bench = await openFaultBench({ [id]: standIn(id, { transport }, { mode: 'hang' }) }, IMPATIENT)
    await eventually(
      () => bench.server(id),
      ({ pid }) => pid !== undefined,
    )
    const { state } = bench.gateway
    await bench.close()
    expect(processesWith(notesFile(id))).toEqual([])
    expect(processesWith(state)).toEqual([])
  })
})

describe('a Docker MCP Gateway over HTTP', () => {
  let bench: FaultBench
  const opened: FaultBench[] = []

  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close()
  })

  async function open(servers: object, env: Readonly<Record<string, string>> = {}): Promise<FaultBench> {
    bench = await openFaultBench(servers, { env })
    opened.push(bench)
    return bench
  }

  it(`${promise('GW-11')} gets a token that nobody else sees, and listens on this machine only`, async () => {
    await open({ web: standIn('web', { transport: 'streaming', servers: ['a'] }) })
    await bench.until('web', 'ready')
    expect(textOf(await bench.window.call('web_search', { q: 3 }))).toBe('search {"q":3}')
    const [{ argv, token } = {}] = notesOf('web')
    expect(argv.join(' ')).toMatch(
      /^mcp gateway run --servers a --transport streaming --host 127\.0\.0\.1 --port \d{2,5}$/,
    )
    expect(token).toMatch(/^[0-9a-f]{64}$/)
    const shown = JSON.stringify([await bench.server('web'), bench.gateway.records(), bench.gateway.stderr()])
    expect(shown).toContain('with the token [redacted: credential of the server]')
    expect(shown).not.toContain(token)
    expect(processesWith(token)).toHaveLength(1)
  })

  it(`${promise('GW-11')} comes back when it dies, with the same token`, async () => {
    await open({ back: standIn('back', { transport: 'streaming' }) })
    await bench.until('back', 'ready')
    expect(errorCode(await bench.window.call('back_die'))).toBe('UPSTREAM_DIED')
    await eventually(
      () => bench.server('back'),
      ({ state, restarts }) => state === 'ready' && restarts === 1,
    )
    expect(textOf(await bench.window.call('back_search'))).toBe('search {}')
    expect(new Set(notesOf('back').flatMap(({ token }) => token ?? [])).size).toBe(1)
    await bench.expectUnharmed()
  })

  it(`${promise('GW-11')} keeps the token that its user chose`, async () => {
    await open({ own: standIn('own', { transport: 'streaming' }) }, { MCP_GATEWAY_AUTH_TOKEN: 'chosen-by-the-user' })
    await bench.until('own', 'ready')
    expect(notesOf('own')[0]).toMatchObject({ token: 'chosen-by-the-user' })
    expect(JSON.stringify(await bench.server('own'))).not.toContain('chosen-by-the-user')
  })

  it(`${promise('GW-11')} has its meta tools closed too if another program started it`, async () => {
    await open({ first: standIn('first', { transport: 'streaming', env: { MCP_GATEWAY_AUTH_TOKEN: 'shared-token' } }) })
    await bench.until('first', 'ready')
    const [{ argv } = {}] = notesOf('first')
    const url = `http://127.0.0.1:${argv.at(-1)}/mcp`
    await open({ second: { url, headers: { Authorization: 'Bearer shared-token' } } })
    await bench.until('second', 'ready')
    expect((await bench.window.toolNames()).filter((name) => name.startsWith('second_'))).toHaveLength(4)
    expect(errorCode(await bench.window.call('second_mcp_exec', { name: 'search' }))).toBe('CALL_DENIED')
  })

  it(`${promise('GW-11')} is not started on a port that is in use`, async () => {
    const squatter = createServer().listen(0, '127.0.0.1')
    await once(squatter, 'listening')
    const { port } = squatter.address() as AddressInfo
    await open({ squatted: standIn('squatted', { transport: 'streaming', port }) })
    const { reason } = await eventually(
      () => bench.server('squatted'),
      (server) => server.reason !== undefined,
    )
    expect(reason).toContain(`cannot listen on port ${port}`)
    squatter.close()
  })
})

describe('the variables of the Docker MCP Gateway', () => {
  const onPath = (): Record<string, string> => ({ PATH: `${folder}${delimiter}${process.env.PATH}` })

  it(`${promise('GW-11')} add a server without an entry in config.yaml`, async () => {
    const env = { ...onPath(), MCP_GATEWAY_ENABLED: 'true', MCP_GATEWAY_ENABLED_SERVERS: 'github,time' }
    const bench = await openFaultBench({}, { env })
    const { config } = await bench.until('docker', 'ready')
    expect(config).toMatchObject({ command: 'docker', args: ['mcp', 'gateway', 'run', '--servers', 'github,time'] })
    expect(textOf(await bench.window.call('docker_search'))).toBe('search {}')
    await bench.close()
  })

  it(`${promise('GW-11')} name the command, as a JSON list or as a string`, async () => {
    const written = [process.execPath, STAND_IN, 'mcp', 'gateway', 'run']
    for (const command of [JSON.stringify(written), written.join(' ')]) {
      const bench = await openFaultBench({}, { env: { MCP_GATEWAY_ENABLED: '1', MCP_GATEWAY_COMMAND: command } })
      await bench.until('docker', 'ready')
      await bench.close()
    }
  })

  it(`${promise('GW-11')} limit every call, over every transport`, async () => {
    const hostile = join(REPOSITORY, 'tests/fixtures/hostile-server.mjs')
    const slow = { type: 'docker-gateway', command: [process.execPath, hostile] }
    const env = { MCP_GATEWAY_TIMEOUT_SECONDS: '2' }
    const bench = await openFaultBench({ slow, patient: { ...slow, timeouts: { call: '50s' } } }, { env })
    await bench.until('slow', 'ready')
    const late = await bench.window.call('slow_hang')
    expect(errorCode(late)).toBe('UPSTREAM_TIMEOUT')
    expect(JSON.stringify(late)).toContain('within 2.0 s')
    expect(textOf(await bench.window.call('patient_sleep', { ms: 2_500 }))).toBe('done')
    await bench.close()
  })

  it(`${promise('GW-11')} are refused by name when they are malformed`, async () => {
    const place = makePlace()
    const args = ['serve', '--home', place.home, '--state', place.state, '--port', '0', '--json']
    const ended = await runCommand(args, { env: { MCP_GATEWAY_TIMEOUT_SECONDS: 'soon' } })
    place.remove()
    expect(ended.code).toBe(1)
    expect(errorOf(ended)).toMatchObject({ code: 'CONFIG_INVALID' })
    expect(JSON.stringify(errorOf(ended))).toContain('MCP_GATEWAY_TIMEOUT_SECONDS')
  })
})
