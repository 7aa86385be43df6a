import { expect, test } from 'vitest'
import { createMcpServer } from './mcp-server.ts'
import type { Bug } from './offers/definitions.ts'
import { CONNECT, READ, WRITE } from './permission.ts'
import { MODERN_META, RawClient } from './raw-client.test-kit.ts'
import { createSampleServer, SAMPLE_OPTIONS } from './sample-server.test-kit.ts'
import { ToolFatalError, ToolRetryError } from './tool-error.ts'

test('a permission is required at run time as well as by the compiler', () => {
  const server = createMcpServer('sample', SAMPLE_OPTIONS)
  // @ts-expect-error: no permission
  expect(() => server.tool('a', { description: '' }, () => '')).toThrow(/"a" has permission none.*/)
  // @ts-expect-error: an empty list is not allowed
  expect(() => server.tool('a', { description: '', permission: [] }, () => '')).toThrow(/permission \[\]/)
  // @ts-expect-error: not a permission
  expect(() => server.tool('a', { description: '', permission: 'EXECUTE' }, () => '')).toThrow(/"EXECUTE"/)
})

test('a name that no agent would accept, or that is already used, is refused', () => {
  const server = createSampleServer()
  expect(() => server.tool('a b', { description: '', permission: READ }, () => '')).toThrow(/cannot be the name/)
  expect(() => server.tool('echo', { description: '', permission: READ }, () => '')).toThrow(/registered twice/)
})

test('a tool is listed with the hints that follow from its permission', async () => {
  const server = createMcpServer('sample', SAMPLE_OPTIONS)
  // The compiler refuses the hint, and JavaScript does not.
  const annotations = { destructiveHint: false, readOnlyHint: true, openWorldHint: false }
  server.tool('send', { title: 'Send', description: 'Sends', permission: [CONNECT, WRITE], annotations }, () => '')
  const client = new RawClient(server)
  await client.initialize()
  expect((await client.request('tools/list')).result.tools).toEqual([
    {
      name: 'send',
      title: 'Send',
      description: 'Sends',
      inputSchema: { type: 'object', properties: {}, additionalProperties: false },
      annotations: { destructiveHint: false, readOnlyHint: false, openWorldHint: true },
      _meta: { 'sallyport/permission': ['WRITE', 'CONNECT'] },
    },
  ])
})

test('the list is in the order of the names, whatever the order of registration', async () => {
  const server = createMcpServer('sample', SAMPLE_OPTIONS)
  for (const name of ['b', 'C', 'a']) server.tool(name, { description: name, permission: READ }, () => name)
  const { result } = await new RawClient(server).requestModern('tools/list')
  expect(result.tools.map((tool: { name: string }) => tool.name)).toEqual(['C', 'a', 'b'])
})

test.each([
  ['2025-11-25', '2025-11-25'],
  ['2024-11-05', '2024-11-05'],
  ['2026-07-28', '2025-11-25'],
  ['1999-01-01', '2025-11-25'],
])('a handshake that requests %s gets %s', async (asked, given) => {
  const { result } = await new RawClient(createSampleServer()).initialize(asked)
  expect(result).toEqual({
    protocolVersion: given,
    serverInfo: { name: 'sample', version: '1.2.3' },
    capabilities: { logging: {}, tools: { listChanged: true } },
    instructions: 'Be kind.',
  })
})

test('a discovery contains the same in the format of the modern era', async () => {
  const { result } = await new RawClient(createSampleServer()).requestModern('server/discover')
  expect(result).toEqual({
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { logging: {}, tools: { listChanged: true } },
    instructions: 'Be kind.',
    ttlMs: 0,
    cacheScope: 'private',
    _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'sample', version: '1.2.3' } },
  })
})

test('both eras may be used on one connection', async () => {
  const client = new RawClient(createSampleServer())
  expect((await client.requestModern('server/discover')).result.resultType).toBe('complete')
  await client.initialize()
  const legacy = await client.request('tools/call', { name: 'echo', arguments: { value: 0 } })
  expect(legacy.result).toEqual({ content: [{ type: 'text', text: '0' }], structuredContent: { result: 0 } })
  const modern = await client.requestModern('tools/call', { name: 'echo', arguments: { value: 0 } })
  expect(modern.result).toMatchObject({ resultType: 'complete', structuredContent: 0 })
  expect(modern.result).not.toHaveProperty('ttlMs')
})

test('a modern request must have capabilities and a known version', async () => {
  const client = new RawClient(createSampleServer())
  const [versionKey] = Object.keys(MODERN_META) as [string]
  const bare = await client.request('tools/list', { _meta: { [versionKey]: '2026-07-28' } })
  expect(bare.error).toMatchObject({ code: -32602, message: expect.stringContaining('clientCapabilities') })
  const old = await client.request('tools/list', { _meta: { ...MODERN_META, [versionKey]: '2025-11-25' } })
  expect(old.error).toMatchObject({ code: -32022, data: { supported: ['2026-07-28'], requested: '2025-11-25' } })
})

test('before the handshake only a ping is answered', async () => {
  const client = new RawClient(createSampleServer())
  expect((await client.request('ping')).result).toEqual({})
  expect((await client.request('tools/list')).error).toMatchObject({ code: -32602 })
})

test('each era knows its own methods only', async () => {
  const client = new RawClient(createSampleServer())
  await client.initialize()
  expect((await client.request('server/discover')).error.code).toBe(-32601)
  expect((await client.requestModern('ping')).error.code).toBe(-32601)
  expect((await client.requestModern('initialize')).error.code).toBe(-32601)
  expect((await client.request('toString')).error.code).toBe(-32601)
  expect((await client.request('prompts/list')).error.code).toBe(-32601)
})

test('an unknown tool is a protocol error, invalid arguments are an error that the model can read', async () => {
  const server = createMcpServer('sample', SAMPLE_OPTIONS)
  const input = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } as const
  server.tool('double', { description: '', permission: READ, input }, ({ n }) => n * 2)
  const client = new RawClient(server)
  expect((await client.requestModern('tools/call', { name: 'nope' })).error.code).toBe(-32602)
  expect((await client.requestModern('tools/call', {})).error.code).toBe(-32602)
  expect((await client.requestModern('tools/call', { name: 'double', arguments: [] })).error.code).toBe(-32602)
  const { result } = await client.requestModern('tools/call', { name: 'double' })
  expect(result).toMatchObject({ isError: true, content: [{ text: 'The argument "n" is missing.' }] })
  expect(result._meta['sallyport/error']).toMatchObject({ kind: 'retry' })
})

test('thrown errors become results: retryable, fatal, and bugs without details', async () => {
  const bugs: Bug[] = []
  const server = createMcpServer('sample', { ...SAMPLE_OPTIONS, onBug: (bug) => bugs.push(bug) })
  const thrown: Record<string, () => never> = {
    retry: () => {
      throw new ToolRetryError('Try again.')
    },
    fatal: () => {
      throw new ToolFatalError('Down.', { nextStep: 'Wait.' })
    },
    bug: () => {
      throw new Error('secret')
    },
  }
  for (const [name, handler] of Object.entries(thrown))
    server.tool(name, { description: '', permission: READ }, handler)
  const client = new RawClient(server)
  const call = async (name: string) => (await client.requestModern('tools/call', { name })).result
  expect(await call('retry')).toMatchObject({ isError: true, content: [{ text: 'Try again.' }] })
  const fatal = await call('fatal')
  expect(fatal).toMatchObject({ isError: true, content: [{ text: '[FATAL] Down. Wait.' }] })
  expect(fatal._meta['sallyport/error']).toEqual({ kind: 'fatal', reason: 'Down.', next_step: 'Wait.' })
  const bug = await call('bug')
  expect(bug.isError).toBe(true)
  expect(JSON.stringify(bug)).not.toContain('secret')
  expect(bugs).toHaveLength(1)
  expect(bugs[0]).toMatchObject({ where: 'tool bug', error: { message: 'secret' } })
  expect(bug.content[0].text).toContain(bugs[0]?.incident)
})
