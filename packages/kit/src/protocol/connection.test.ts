import { setImmediate } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createMcpServer } from '../mcp-server.ts'
import type { Bug } from '../offers/definitions.ts'
import { READ } from '../permission.ts'
import { MODERN_META, RawClient } from '../raw-client.test-kit.ts'
import { createSampleServer, SAMPLE_OPTIONS } from '../sample-server.test-kit.ts'

test('a result that JSON cannot represent is answered with an error, and the connection stays open', async () => {
  const bugs: Bug[] = []
  const server = createMcpServer('sample', { ...SAMPLE_OPTIONS, onBug: (bug) => bugs.push(bug) })
  server.tool('cyclic', { description: '', permission: READ }, () => ({ rows: [1n] }))
  const client = new RawClient(server)
  expect((await client.requestModern('tools/call', { name: 'cyclic' })).result).toMatchObject({ isError: true })
  expect(String(bugs[0]?.error)).toContain('a BigInt at rows[0]')
  expect(bugs).toHaveLength(1)
  expect((await client.requestModern('tools/list')).result.tools).toHaveLength(1)
})

test('a log function that throws does not stop the server', async () => {
  const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  onTestFinished(() => printed.mockRestore())
  const server = createMcpServer('sample', {
    ...SAMPLE_OPTIONS,
    onBug: () => {
      throw new Error('the log is full')
    },
  })
  server.tool('bug', { description: '', permission: READ }, () => {
    throw new Error('x')
  })
  const client = new RawClient(server)
  expect((await client.requestModern('tools/call', { name: 'bug' })).result.isError).toBe(true)
  expect(printed).toHaveBeenCalledOnce()
})

test('cancelling aborts the call, and no answer is sent', async () => {
  const bugs: Bug[] = []
  const client = new RawClient(createSampleServer((bug) => bugs.push(bug)))
  await client.initialize()
  const id = client.start('tools/call', { name: 'wait' })
  client.notify('notifications/cancelled', { requestId: id })
  await setImmediate()
  expect(client.received.some((message) => message.id === id)).toBe(false)
  expect(bugs).toEqual([])
})

test('closing aborts every call, and nothing is sent afterwards', async () => {
  const aborted: boolean[] = []
  const server = createSampleServer()
  server.tool('watch', { description: '', permission: READ }, (_, { signal, progress }) => {
    signal.addEventListener('abort', () => {
      aborted.push(true)
      progress(1)
    })
    return new Promise(() => undefined)
  })
  const client = new RawClient(server)
  client.start('tools/call', { name: 'watch', _meta: { ...MODERN_META, progressToken: 'p' } })
  client.connection.close()
  client.connection.close()
  client.send({ jsonrpc: '2.0', id: 99, method: 'ping' })
  expect(aborted).toEqual([true])
  expect(client.received).toEqual([])
})

test('progress has the caller’s token, only increases, and ends with the result', async () => {
  const server = createMcpServer('sample', SAMPLE_OPTIONS)
  const late: (() => void)[] = []
  server.tool('work', { description: '', permission: READ }, (_, { progress }) => {
    progress(0, 2, 'begun')
    progress(0)
    progress(Number.NaN)
    progress(2, 2)
    late.push(() => progress(3))
    return 'done'
  })
  const client = new RawClient(server)
  await client.requestModern('tools/call', { name: 'work', _meta: { progressToken: 0 } })
  late[0]?.()
  await client.requestModern('tools/call', { name: 'work' })
  const notices = client.received.filter(({ method }) => method === 'notifications/progress')
  expect(notices.map(({ params }) => params)).toEqual([
    { progressToken: 0, progress: 0, total: 2, message: 'begun' },
    { progressToken: 0, progress: 2, total: 2 },
  ])
})

test('logs are sent from the requested level on: per session in one era, per request in the other', async () => {
  const server = createMcpServer('sample', SAMPLE_OPTIONS)
  server.tool('talk', { description: '', permission: READ }, (_, { log }) => {
    log('debug', 'low')
    log('error', { high: true })
  })
  const client = new RawClient(server)
  const logsOf = async (ask: () => Promise<unknown>) => {
    const before = client.received.length
    await ask()
    return client.received.slice(before).flatMap((message) => (message.params ? [message.params.data] : []))
  }
  await client.initialize()
  expect(await logsOf(() => client.request('tools/call', { name: 'talk' }))).toEqual([{ high: true }])
  await client.request('logging/setLevel', { level: 'debug' })
  expect(await logsOf(() => client.request('tools/call', { name: 'talk' }))).toEqual(['low', { high: true }])
  expect((await client.request('logging/setLevel', { level: 'loud' })).error.code).toBe(-32602)
  expect(await logsOf(() => client.requestModern('tools/call', { name: 'talk' }))).toEqual([])
  const asked = { name: 'talk', _meta: { 'io.modelcontextprotocol/logLevel': 'debug' } }
  expect(await logsOf(() => client.requestModern('tools/call', asked))).toEqual(['low', { high: true }])
})

test('changes of the tools are announced once per tick, to clients that opened a session', async () => {
  const server = createSampleServer()
  const client = new RawClient(server)
  const stranger = new RawClient(server)
  await client.initialize()
  server.tool('new1', { description: '', permission: READ }, () => '')
  const second = server.tool('new2', { description: '', permission: READ }, () => '')
  await client.waitForNotification('notifications/tools/list_changed')
  expect(client.received.filter(({ method }) => method !== undefined)).toHaveLength(1)
  expect(stranger.received).toEqual([])
  second.remove()
  second.remove()
  const { result } = await client.request('tools/list')
  expect(result.tools.map((tool: { name: string }) => tool.name)).toEqual(['echo', 'new1', 'wait'])
})

test('a modern subscription is acknowledged first, receives only what it asked for, and ends with a result', async () => {
  const server = createSampleServer()
  const client = new RawClient(server)
  const notifications = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['x:y'] }
  const id = client.start('subscriptions/listen', { _meta: MODERN_META, notifications })
  const tagged = { 'io.modelcontextprotocol/subscriptionId': id }
  server.tool('new', { description: '', permission: READ }, () => '')
  server.prompt('later', {}, () => '')
  await client.waitForNotification('notifications/tools/list_changed')
  client.connection.close()
  expect(client.received).toEqual([
    {
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { _meta: tagged, notifications: { toolsListChanged: true } },
    },
    { jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta: tagged } },
    { jsonrpc: '2.0', id, result: { resultType: 'complete', _meta: tagged } },
  ])
})

test('a cancelled subscription receives nothing more', async () => {
  const server = createSampleServer()
  const client = new RawClient(server)
  const id = client.start('subscriptions/listen', { _meta: MODERN_META, notifications: { toolsListChanged: true } })
  client.notify('notifications/cancelled', { requestId: id })
  server.tool('new', { description: '', permission: READ }, () => '')
  await client.requestModern('tools/list')
  client.connection.close()
  expect(client.received.map(({ method }) => method)).toEqual(['notifications/subscriptions/acknowledged', undefined])
})

test.each([
  [[]],
  [null],
  ['text'],
  [{}],
  [{ jsonrpc: '1.0', id: 1, method: 'ping' }],
  [{ jsonrpc: '2.0', id: {}, method: 'ping' }],
  [{ jsonrpc: '2.0', id: null, method: 'ping' }],
  [{ jsonrpc: '2.0', method: 7 }],
])('%j is refused as an invalid message', async (message) => {
  const client = new RawClient(createSampleServer())
  client.send(message)
  expect((await client.waitForAnswer(null)).error.code).toBe(-32600)
})

test.each(['result', 'error'])('a request that also has the member %s of an answer is refused', async (member) => {
  const client = new RawClient(createSampleServer())
  client.send({ jsonrpc: '2.0', id: 1, method: 'ping', [member]: {} })
  expect((await client.waitForAnswer(1)).error.code).toBe(-32600)
})

test('bad parameters, unknown notifications and unexpected answers do no harm', async () => {
  const client = new RawClient(createSampleServer())
  client.send({ jsonrpc: '2.0', id: 1, method: 'ping', params: [] })
  expect((await client.waitForAnswer(1)).error.code).toBe(-32600)
  client.notify('notifications/unheard-of')
  client.notify('notifications/cancelled', { requestId: 'nobody' })
  client.send({ jsonrpc: '2.0', id: 5, result: {} })
  expect(client.received).toHaveLength(1)
})

test('an unknown cursor is refused', async () => {
  const client = new RawClient(createSampleServer())
  expect((await client.requestModern('tools/list', { cursor: 'MTA=' })).error.code).toBe(-32602)
})

test('an id that is in flight cannot be used again', async () => {
  const client = new RawClient(createSampleServer())
  client.send({ jsonrpc: '2.0', id: 'a', method: 'tools/call', params: { name: 'wait', _meta: MODERN_META } })
  client.send({ jsonrpc: '2.0', id: 'a', method: 'tools/list', params: { _meta: MODERN_META } })
  expect(client.received[0]).toMatchObject({ id: 'a', error: { code: -32600 } })
  client.connection.close()
})

test('deeply nested params are refused before any code reads them', async () => {
  const client = new RawClient(createSampleServer())
  const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
  const params = { name: 'echo', arguments: { value: deep }, requestState: 'x', _meta: MODERN_META }
  expect((await client.request('tools/call', params as never)).error.code).toBe(-32600)
  client.send({ jsonrpc: '2.0', id: 1, result: { deep } })
})
