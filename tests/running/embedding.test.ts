import { existsSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createGateway, type EmbeddedGateway, type EmbeddedOptions } from '../../packages/gateway/dist/index.js'
import { eventually, processesWith } from '../harness/processes.ts'
import { REPOSITORY, readRecords } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const fixture = (name: string): string => join(REPOSITORY, 'tests/fixtures', name)
const undo: (() => unknown)[] = []

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

interface Opened {
  readonly gateway: EmbeddedGateway
  readonly state: string
  readonly warnings: string[]
  /** What the mirror server heard. */
  readonly received: () => readonly string[]
}

function folder(): string {
  const root = mkdtempSync(join(tmpdir(), 'sallyport-embedded-'))
  undo.push(() => rmSync(root, { recursive: true, force: true }))
  return root
}

async function open(servers: EmbeddedOptions['config'] = {}, root = folder()): Promise<Opened> {
  const [state, file] = [join(root, 'state'), join(root, 'heard')]
  const warnings: string[] = []
  const mirror = { command: 'node', args: [fixture('mirror-server.mjs'), file], timeouts: { call: '30s' } }
  const gateway = await createGateway({
    config: { mcp_servers: { mirror, ...servers } },
    state,
    onWarning: (text) => warnings.push(text),
  })
  undo.push(() => gateway.close())
  const received = (): readonly string[] =>
    existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : []
  return { gateway, state, warnings, received }
}

const READ = 'READ'

describe(`${promise('GW-25')} a gateway inside a program`, () => {
  it('lists built-in and MCP tools, and calls them by any of their names', async () => {
    const { gateway } = await open()
    const tools = await gateway.listTools()
    expect(tools).toContainEqual(expect.objectContaining({ name: 'sallyport_read_file', isMcp: false }))
    expect(tools).toContainEqual(expect.objectContaining({ name: 'mirror_mirror', server: 'mirror', isMcp: true }))
    expect((await gateway.listMcpTools()).map(({ server }) => server)).not.toContain('sallyport')
    expect(await gateway.listMcpTools('nobody')).toEqual([])
    for (const name of ['mirror_mirror', 'mirror/mirror', 'mcp__mirror__mirror', 'mirror']) {
      const result = await gateway.executeTool(name, { result: { content: [{ type: 'text', text: name }] } })
      expect(result).toMatchObject({ success: true, output: name, error: undefined, metadata: { server: 'mirror' } })
      expect(result.latency_ms).toBeGreaterThan(0)
    }
    const metrics = await gateway.executeTool('system_metrics_snapshot', {})
    expect(metrics).toMatchObject({ success: true, metadata: { server: 'sallyport' } })
  })

  it('carries every content type as it came', async () => {
    const { gateway } = await open()
    const content = [
      { type: 'text', text: 'words', annotations: { audience: ['user'] } },
      { type: 'image', data: 'aGk=', mimeType: 'image/png' },
      { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' },
      { type: 'resource_link', uri: 'file:///a', name: 'a', size: 0 },
      { type: 'resource', resource: { uri: 'file:///b', text: '' } },
      { type: 'resource', resource: { uri: 'file:///c', blob: 'aGk=' } },
      { type: 'from-the-future', anything: [null, 0, false] },
    ]
    const result = { content, structuredContent: { deep: [{ er: 0 }] }, _meta: { 'example.org/key': '' } }
    expect(await gateway.executeTool('mirror', { result })).toMatchObject({
      success: true,
      output: { deep: [{ er: 0 }] },
      metadata: { content, structured_content: { deep: [{ er: 0 }] }, meta: { 'example.org/key': '' } },
    })
  })

  it.each([0, '', [], false, {}, '0', [0]])('does not change the output %j of a server', async (output) => {
    const { gateway } = await open()
    const structured = await gateway.executeTool('mirror', { result: { content: [], structuredContent: output } })
    expect(structured.success).toBe(true)
    expect(structured.output).toEqual(output)
  })

  it('treats null as missing structured content, as servers of older versions mean it', async () => {
    const { gateway } = await open()
    const content = [{ type: 'text', text: 'none' }]
    const result = await gateway.executeTool('mirror', { result: { content, structuredContent: null } })
    expect(result).toMatchObject({ success: true, output: 'none' })
    expect(result.metadata).not.toHaveProperty('structured_content', null)
  })

  it('does not change an empty text and an empty list of contents', async () => {
    const { gateway } = await open()
    const text = { content: [{ type: 'text', text: '' }] }
    expect(await gateway.executeTool('mirror', { result: text })).toMatchObject({ success: true, output: '' })
    expect(await gateway.executeTool('mirror', { result: { content: [] } })).toMatchObject({
      success: true,
      output: [],
    })
  })

  it('runs tools of the program itself through the same pipeline', async () => {
    const { gateway, state } = await open()
    const input = { type: 'object', properties: { a: { type: 'integer' } } } as const
    gateway.registerTool('add', { description: 'Adds', permission: READ, input }, (({ a }: { a: number }) => ({
      sum: a + 1,
    })) as never)
    await eventually(
      () => gateway.listTools(),
      (tools) => tools.some(({ name }) => name === 'sallyport_add'),
    )
    const result = await gateway.executeTool('add', { a: 1 })
    expect(result).toMatchObject({ success: true, output: { sum: 2 } })
    expect(readRecords(state)).toContainEqual(
      expect.objectContaining({ type: 'TOOL_CALL_COMPLETED', call_id: result.metadata.call_id, is_mcp: false }),
    )
  })

  it('keeps a schema that does not convert, warns, and the tool stays usable', async () => {
    const { gateway, warnings } = await open()
    const inputSchema = { $ref: 'https://example.org/odd', type: ['weird'] }
    const definition = { server: 'odd', name: 'tool', inputSchema, permission: READ } as const
    gateway.registerMcpTool(definition, ((input: object) => ({ got: input })) as never)
    const [listed] = await eventually(
      () => gateway.listMcpTools('odd'),
      (tools) => tools.length === 1,
    )
    expect(listed?.inputSchema).toEqual(inputSchema)
    expect(warnings).toContainEqual(expect.stringContaining('odd/tool'))
    expect(await gateway.executeTool('odd/tool', { any: 0 })).toMatchObject({
      success: true,
      output: { got: { any: 0 } },
    })
  })
})

describe(`${promise('GW-25')} an error inside a program`, () => {
  it('is a result with its error, and is logged with the trace id: an unknown tool', async () => {
    const { gateway, state } = await open()
    const result = await gateway.executeTool('mirror_miror', {})
    expect(result).toMatchObject({ success: false, output: undefined, error: { code: 'TOOL_UNKNOWN' } })
    expect(readRecords(state)).toContainEqual(
      expect.objectContaining({ type: 'TOOL_CALL_FAILED', trace_id: result.metadata.trace_id, error: 'TOOL_UNKNOWN' }),
    )
  })

  it('is a result with its error, and is logged with the trace id: a call that takes too long', async () => {
    const root = folder()
    const late = {
      command: 'node',
      args: [fixture('mirror-server.mjs'), join(root, 'late')],
      timeouts: { call: '100ms' },
    }
    const { gateway, state } = await open({ late })
    const result = await gateway.executeTool('late/hang', {})
    expect(result).toMatchObject({ success: false, error: { code: 'UPSTREAM_TIMEOUT', retryable: false } })
    expect(readRecords(state)).toContainEqual(
      expect.objectContaining({
        type: 'TOOL_CALL_FAILED',
        trace_id: result.metadata.trace_id,
        error: 'UPSTREAM_TIMEOUT',
      }),
    )
    await eventually(
      () => readFileSync(join(root, 'late'), 'utf8'),
      (text) => text.includes('cancelled'),
    )
  })

  it('is a result with its error: an error of the tool', async () => {
    const { gateway } = await open()
    const result = { isError: true, content: [{ type: 'text', text: 'the disk is on fire' }] }
    expect(await gateway.executeTool('mirror', { result })).toMatchObject({
      success: false,
      error: { code: 'TOOL_ERROR', message: 'the disk is on fire' },
    })
  })

  it('is a result with its error: an invalid call, from a program that was not type-checked', async () => {
    const { gateway, received } = await open()
    const circular: Record<string, unknown> = {}
    circular.self = circular
    const throwing = {
      toJSON: () => {
        throw new Error('no')
      },
    }
    const execute = gateway.executeTool.bind(gateway) as (...call: unknown[]) => ReturnType<typeof gateway.executeTool>
    const args = [{ x: 1n }, circular, throwing, { toJSON: () => 'text' }, [1], 'text', 5, null]
    const ann = { user: 'ann', agent: 'any', profile: 'default', session: 's', role: 'agent' }
    // Of "ann" and "x\ny" together nobody could tell where the user ends.
    const principals = [
      null,
      { user: 'x' },
      { ...ann, session: 'x\ny' },
      { ...ann, user: 'ann\nx' },
      { ...ann, user: '' },
    ]
    const options = [null, 'text', { signal: {} }, { signal: 5 }, ...principals.map((principal) => ({ principal }))]
    const calls = [
      ...[undefined, null, 5, {}, Symbol('x')].map((tool) => [tool, {}]),
      ...args.map((bad) => ['mirror/mirror', bad]),
      ...options.map((bad) => ['mirror/mirror', {}, bad]),
    ]
    for (const call of calls) {
      const result = await execute(...call)
      expect(result).toMatchObject({ success: false, output: undefined, error: { code: 'INVALID_PARAMS' } })
      expect(result.metadata.call_id).not.toBe('')
    }
    expect(received().filter((line) => line.includes('tools/call'))).toEqual([])
    expect(await execute('mirror/mirror')).toMatchObject({ metadata: { server: 'mirror' } })
  })

  it('calls with the current values of the principal, even if the program changes an object that it used before', async () => {
    const { gateway, state } = await open()
    const ann = { user: 'ann', agent: 'any', profile: 'default', session: 'first', role: 'agent' as const }
    const principal: typeof ann & { tools?: readonly string[] } = ann
    const call = () => gateway.executeTool('system_metrics_snapshot', {}, { principal })
    expect(await call()).toMatchObject({ success: true })
    principal.session = 'second'
    expect(await call()).toMatchObject({ success: true })
    const sessions = readRecords(state).flatMap(({ type, session }) =>
      type === 'TOOL_CALL_COMPLETED' ? [session] : [],
    )
    expect(sessions).toEqual(['first', 'second'])
    expect(await gateway.listTools(principal)).not.toEqual([])
    principal.tools = []
    expect(await gateway.listTools(principal)).toEqual([])
    expect(await call()).toMatchObject({ success: false })
  })

  it('throws at once: tools under an invalid server id, or under the gateway’s own', async () => {
    const { gateway } = await open()
    const register = (server: unknown) => () =>
      gateway.registerMcpTool({ server: server as string, name: 'x', permission: READ }, () => 'never')
    for (const server of ['', '__proto__', 'Bad Server__X', 'x'.repeat(300), 'Sallyport', 'sallyport', 5, undefined]) {
      expect(register(server), String(server)).toThrow(expect.objectContaining({ code: 'USAGE' }))
    }
    expect((await gateway.listTools()).filter(({ tool }) => tool === 'x')).toEqual([])
  })

  it('throws at once: tools for a gateway that is closed', async () => {
    const { gateway } = await open()
    await gateway.close()
    const permission = READ
    const late = expect.objectContaining({ code: 'USAGE' })
    expect(() => gateway.registerMcpTool({ server: 'late', name: 'x', permission }, () => 'never')).toThrow(late)
    expect(() => gateway.registerTool('late', { description: '', permission }, () => 'never')).toThrow(late)
    for (const tool of ['late/x', 'mirror/mirror', 'sallyport_read_file'])
      expect(await gateway.executeTool(tool, {})).toMatchObject({
        success: false,
        error: { code: 'USAGE', message: expect.stringContaining('The gateway is closed') },
      })
  })

  it('ends a call that waits for its server when the gateway is closed', async () => {
    const silent = { command: 'node', args: [fixture('hostile-server.mjs'), 'never-initialize'] }
    const { gateway } = await open({ silent })
    const calling = gateway.executeTool('silent/anything', {})
    await gateway.close()
    expect(await calling).toMatchObject({ success: false, error: { code: 'USAGE' } })
  })

  it('names the server that has not come up, and why, for a tool of it', async () => {
    const { gateway } = await open({
      dead: { command: 'node', args: ['-e', 'console.error("no key"), process.exit(3)'] },
    })
    for (const tool of ['dead/read', 'mcp__dead__read', 'dead_read'])
      expect(await gateway.executeTool(tool, {})).toMatchObject({
        success: false,
        error: {
          code: expect.stringMatching(/^UPSTREAM_(RESTARTING|STARTING|BROKEN)$/),
          message: expect.stringMatching(
            /^Server dead is \w+: .*exited with code 3: no key\.( (The n|N)ext attempt .*)?$/,
          ),
        },
      })
    expect(await gateway.executeTool('deaf_read', {})).toMatchObject({ error: { code: 'TOOL_UNKNOWN' } })
  })

  it('does not give the reason if results are quarantined', async () => {
    const dead = { command: 'node', args: ['-e', 'console.error("no key"), process.exit(3)'], isolated: true }
    const config = { mcp_servers: { dead }, isolation: { returns: { type: 'object' } } }
    const gateway = await createGateway({ config, state: join(folder(), 'state'), onWarning: () => undefined })
    undo.push(() => gateway.close())
    const answer = await gateway.executeTool('dead/read', {})
    expect(answer).toMatchObject({ error: { code: expect.stringMatching(/^UPSTREAM_/) } })
    expect(JSON.stringify(answer)).not.toContain('no key')
  })

  it('reaches the server when the caller aborts', async () => {
    const { gateway, received } = await open()
    const stop = new AbortController()
    const calling = gateway.executeTool('mirror/hang', {}, { signal: stop.signal })
    await eventually(received, (lines) => lines.includes('call hang'))
    stop.abort()
    expect(await calling).toMatchObject({ success: false, error: { code: 'CALL_CANCELLED' } })
    await eventually(received, (lines) => lines.includes('cancelled'))
  })

  it('never starts when the caller had aborted already', async () => {
    const { gateway, received } = await open()
    await gateway.listTools()
    const result = await gateway.executeTool('mirror/hang', {}, { signal: AbortSignal.abort() })
    expect(result).toMatchObject({ success: false, error: { code: 'CALL_CANCELLED' } })
    await gateway.executeTool('mirror', { result: { content: [] } })
    expect(received()).toEqual(['call mirror'])
  })

  it('does not delay the tools of other servers: a server that never answers', async () => {
    const silent = {
      command: 'node',
      args: [fixture('hostile-server.mjs'), 'never-initialize'],
      timeouts: { startup: '1h' },
    }
    const { gateway } = await open({ silent })
    const own = await gateway.executeTool('sallyport_system_metrics_snapshot', {})
    expect(own).toMatchObject({ success: true })
    const stop = new AbortController()
    const unknown = gateway.executeTool('silent/anything', {}, { signal: stop.signal })
    stop.abort()
    expect(await unknown).toMatchObject({ success: false, error: { code: 'CALL_CANCELLED' } })
  })
})

describe(`${promise('GW-25')} the configuration`, () => {
  it('is what the program passes: a config.yaml in the working folder is ignored', async () => {
    const root = folder()
    const mirror = { command: 'node', args: [fixture('mirror-server.mjs'), join(root, 'heard')] }
    writeFileSync(join(root, 'config.yaml'), JSON.stringify({ mcp_servers: { mirror } }))
    const before = process.cwd()
    process.chdir(root)
    undo.push(() => process.chdir(before))
    const servers = async (more: Partial<EmbeddedOptions>): Promise<readonly string[]> => {
      const gateway = await createGateway({ state: join(root, 'state'), onWarning: () => {}, ...more })
      try {
        return [...new Set((await gateway.listMcpTools()).map(({ server }) => server))]
      } finally {
        await gateway.close()
      }
    }
    expect(await servers({})).toEqual([])
    expect(await servers({ config: {} })).toEqual([])
    expect(await servers({ home: root, config: {} })).toEqual([])
    expect(await servers({ home: root })).toEqual(['mirror'])
  })
})

describe(`${promise('GW-25')} closing`, () => {
  /** Without those of the index, which libsql lets go of only when its statements are collected. */
  const descriptors = (): number =>
    readdirSync('/proc/self/fd').filter((number) => !targetOf(number).includes('state.db')).length

  const children = (): readonly string[] =>
    readdirSync('/proc/self/task').flatMap((thread) =>
      readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
    )

  const targetOf = (number: string): string => {
    try {
      return readlinkSync(`/proc/self/fd/${number}`)
    } catch {
      // The one that listed the others.
      return 'state.db'
    }
  }

  it('leaves no process, no timer and no lock, and calls after it are results too', async () => {
    const root = folder()
    const { gateway, state } = await open({}, root)
    await gateway.listTools()
    expect(processesWith(root).length).toBeGreaterThan(0)
    const hanging = gateway.executeTool('mirror/hang', {})
    await gateway.close()
    await gateway.close()
    expect(await hanging).toMatchObject({ success: false })
    await eventually(
      () => processesWith(root),
      (pids) => pids.length === 0,
    )
    expect(await gateway.executeTool('mirror', { result: { content: [] } })).toMatchObject({ success: false })
    const before = descriptors()
    expect(before).toBeGreaterThan(0)
    for (let round = 0; round < 3; round++) {
      const again = await createGateway({ config: {}, state, onWarning: () => {} })
      await again.close()
    }
    await eventually(descriptors, (count) => count <= before)
  })

  it('is not needed for what never opened: a held, broken or misconfigured state is free afterwards', async () => {
    const root = folder()
    const { gateway, state } = await open({}, root)
    await expect(createGateway({ config: {}, state })).rejects.toMatchObject({ code: 'STATE_HELD' })
    await gateway.close()
    await expect(createGateway({ config: { gateway: { port: 'many' } }, state })).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
    })
    rmSync(join(state, 'logs'), { recursive: true })
    writeFileSync(join(state, 'logs'), 'in the way')
    for (let attempt = 0; attempt < 2; attempt++)
      await expect(createGateway({ config: {}, state })).rejects.toMatchObject({ code: 'STATE_UNUSABLE' })
    rmSync(join(state, 'logs'))
    const last = await createGateway({ config: {}, state, onWarning: () => {} })
    await last.close()
  })

  it('is not needed for what never opened: no process and no descriptor is left of it', async () => {
    const state = join(folder(), 'state')
    const jwt = { secret: '' }
    const fail = async (): Promise<void> => {
      await expect(createGateway({ config: { auth: { jwt } }, state })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
      })
      const blocked = join(state, 'tokens')
      rmSync(blocked, { recursive: true, force: true })
      writeFileSync(blocked, 'in the way')
      await expect(createGateway({ config: {}, state })).rejects.toMatchObject({ code: 'STATE_UNUSABLE' })
      rmSync(blocked)
    }
    const first = await createGateway({ config: {}, state, onWarning: () => {} })
    await expect(createGateway({ config: {}, state })).rejects.toMatchObject({ code: 'STATE_HELD' })
    await first.close()
    await fail()
    const before = { open: descriptors(), children: children() }
    for (let round = 0; round < 3; round++) await fail()
    expect(children()).toEqual(before.children)
    await eventually(descriptors, (count) => count <= before.open)
    const last = await createGateway({ config: {}, state, onWarning: () => {} })
    await last.close()
  })
})
