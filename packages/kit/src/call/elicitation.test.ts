import { expect, test } from 'vitest'
import { z } from 'zod'
import { createMcpServer, type McpServer } from '../mcp-server.ts'
import { READ } from '../permission.ts'
import { type Message, MODERN_META, RawClient } from '../raw-client.test-kit.ts'

const CAN_ASK = { ...MODERN_META, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, roots: {} } }

/** Counts how often each step of the tool was taken. */
function createAsking(steps: string[] = []): McpServer {
  const server = createMcpServer('asking', { version: '1', onBug: () => undefined })
  const options = { description: 'Books a table', permission: READ } as const
  server.tool('book', options, async (_args, context) => {
    steps.push('begun')
    const seats = await context.elicit({ message: 'How many?', schema: z.object({ seats: z.number() }) })
    if (seats.action !== 'accept') return `No table: ${seats.action}`
    steps.push('asked')
    const name = await context.elicit({
      message: 'Your name?',
      schema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
      key: 'name',
    })
    if (name.action !== 'accept') return `No name: ${name.action}`
    return `${seats.content.seats + 1} for ${name.content.name.toUpperCase()}`
  })
  server.tool('both', options, async (_args, context) => {
    const schema = { type: 'object', properties: { x: { type: 'string' } } } as const
    const [form, roots] = await Promise.all([context.elicit({ message: 'x?', schema }), context.listRoots()])
    return { form, roots }
  })
  return server
}

const accept = (content: object): object => ({ action: 'accept', content })
const textOf = (answer: Message): string => answer.result.content[0].text

function call(client: RawClient, more: object = {}, name = 'book'): Promise<Message> {
  return client.request('tools/call', { name, arguments: {}, ...more, _meta: CAN_ASK } as never)
}

test('a modern client gets the questions, sends the answers with its next request, and nothing runs twice', async () => {
  const steps: string[] = []
  const client = new RawClient(createAsking(steps))
  const first = await call(client)
  expect(first.result).toMatchObject({
    resultType: 'input_required',
    inputRequests: {
      question_1: {
        method: 'elicitation/create',
        params: { message: 'How many?', requestedSchema: { type: 'object', required: ['seats'] } },
      },
    },
  })
  const { requestState } = first.result
  const second = await call(client, { requestState, inputResponses: { question_1: accept({ seats: 3 }) } })
  expect(Object.keys(second.result.inputRequests)).toEqual(['name'])
  expect(second.result.requestState).not.toBe(requestState)
  const last = await call(client, {
    requestState: second.result.requestState,
    inputResponses: { name: accept({ name: 'Ada' }) },
  })
  expect(last.result).toMatchObject({ resultType: 'complete', content: [{ text: '4 for ADA' }] })
  expect(steps).toEqual(['begun', 'asked'])
})

test('a legacy client is asked with a request of the server, within its call', async () => {
  const client = new RawClient(createAsking())
  await client.request('initialize', { protocolVersion: '2025-11-25', capabilities: { elicitation: {} } })
  const id = client.start('tools/call', { name: 'book', arguments: {} })
  const first = await client.waitForNotification('elicitation/create')
  client.send({ jsonrpc: '2.0', id: first.id, result: accept({ seats: 1 }) })
  const second = await client.waitForMessage(
    ({ method, id: asked }) => method === 'elicitation/create' && asked !== first.id,
  )
  client.send({ jsonrpc: '2.0', id: second.id, result: accept({ name: 'Bo' }) })
  expect(textOf(await client.waitForAnswer(id))).toBe('2 for BO')
})

test.each(['decline', 'cancel'] as const)('a user can %s, which is a normal answer', async (action) => {
  const client = new RawClient(createAsking())
  const { result } = await call(client)
  const { requestState } = result
  const answer = await call(client, { requestState, inputResponses: { question_1: { action } } })
  expect(textOf(answer)).toBe(`No table: ${action}`)
})

test('questions that are asked together are sent together, and wait until all are answered', async () => {
  const client = new RawClient(createAsking())
  const { result } = await call(client, {}, 'both')
  expect(Object.values(result.inputRequests as object).map(({ method }) => method)).toEqual([
    'elicitation/create',
    'roots/list',
  ])
  const inputResponses = { question_1: { action: 'decline' }, unheard_of: {}, question_2: 7 }
  const again = await call(client, { requestState: result.requestState, inputResponses }, 'both')
  expect(Object.keys(again.result.inputRequests)).toEqual(['question_2'])
  const roots = [{ uri: 'file:///srv' }]
  const rest = { requestState: again.result.requestState, inputResponses: { question_2: { roots } } }
  expect((await call(client, rest, 'both')).result.structuredContent).toEqual({ form: { action: 'decline' }, roots })
})

test('answers that arrive before the questions are used', async () => {
  const inputResponses = { question_1: accept({ seats: 1 }), name: accept({ name: 'x' }) }
  expect(textOf(await call(new RawClient(createAsking()), { inputResponses }))).toBe('2 for X')
})

test('an answer that does not match its form is reported to the caller', async () => {
  const client = new RawClient(createAsking())
  const { requestState } = (await call(client)).result
  const { result } = await call(client, { requestState, inputResponses: { question_1: accept({ seats: 'three' }) } })
  expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('seats') }] })
})

test('a client that cannot be asked gets an error: of the protocol, or in a result', async () => {
  const client = new RawClient(createAsking())
  const modern = await client.requestModern('tools/call', { name: 'book', arguments: {} })
  expect(modern.error).toMatchObject({ code: -32021, data: { requiredCapabilities: { elicitation: {} } } })
  await client.initialize()
  const legacy = await client.request('tools/call', { name: 'book', arguments: {} })
  expect(legacy.result).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('"elicitation"') }] })
})

test('a client that only opens URLs gets no form', async () => {
  const client = new RawClient(createAsking())
  const _meta = { ...CAN_ASK, 'io.modelcontextprotocol/clientCapabilities': { elicitation: { url: {} } } }
  expect((await client.request('tools/call', { name: 'book', _meta })).error.code).toBe(-32021)
})

test('a state continues only its own call, and only once', async () => {
  const client = new RawClient(createAsking())
  const { requestState } = (await call(client)).result
  const inputResponses = { question_1: { action: 'cancel' } }
  const others = [
    call(client, { requestState: `${requestState}x`, inputResponses }),
    call(client, { requestState, inputResponses }, 'both'),
    call(client, { requestState, inputResponses, arguments: { other: 1 } }),
    call(new RawClient(createAsking()), { requestState, inputResponses }),
  ]
  for (const { error } of await Promise.all(others)) expect(error.code).toBe(-32602)
  expect(textOf(await call(client, { requestState, inputResponses }))).toBe('No table: cancel')
  expect((await call(client, { requestState, inputResponses })).error.code).toBe(-32602)
})

test('a handler does not wait for a client that refuses or leaves', async () => {
  const steps: string[] = []
  const client = new RawClient(createAsking(steps))
  await client.request('initialize', { protocolVersion: '2025-11-25', capabilities: { elicitation: {} } })
  const id = client.start('tools/call', { name: 'book', arguments: {} })
  const asked = await client.waitForNotification('elicitation/create')
  client.send({ jsonrpc: '2.0', id: asked.id, error: { code: -1, message: 'no' } })
  expect((await client.waitForAnswer(id)).result).toMatchObject({ isError: true })
})

test('cancelling a call cancels its question', async () => {
  const client = new RawClient(createAsking())
  await client.request('initialize', { protocolVersion: '2025-11-25', capabilities: { elicitation: {} } })
  const requestId = client.start('tools/call', { name: 'book', arguments: {} })
  const asked = await client.waitForNotification('elicitation/create')
  client.notify('notifications/cancelled', { requestId })
  expect((await client.waitForNotification('notifications/cancelled')).params).toEqual({ requestId: asked.id })
})

test('a form that no client can show is a bug of the server, not of its caller', async () => {
  const bugs: unknown[] = []
  const server = createMcpServer('nested', { version: '1', onBug: ({ error }) => bugs.push(error) })
  const schema = z.object({ address: z.object({ street: z.string() }) })
  server.tool('ask', { description: 'Asks', permission: READ }, (_args, context) =>
    context.elicit({ message: '?', schema }),
  )
  expect((await call(new RawClient(server), {}, 'ask')).result.isError).toBe(true)
  expect(String(bugs[0])).toContain('"address"')
})

test('a question that is not awaited does not end the process when its client leaves', async () => {
  const server = createMcpServer('hasty', { version: '1' })
  let leave: () => void = () => undefined
  const left = new Promise<void>((resolve) => {
    leave = resolve
  })
  server.tool('ask', { description: 'Asks', permission: READ }, async (_args, context) => {
    const schema = { type: 'object', properties: { x: { type: 'string' } } } as const
    context
      .elicit({ message: '?', schema })
      .finally(() => leave())
      .catch(() => undefined)
    void context.elicit({ message: '?', schema })
    await left
  })
  const client = new RawClient(server)
  expect((await call(client, {}, 'ask')).result.resultType).toBe('input_required')
  client.connection.close()
  await left
})

test('a question that is asked again needs another answer', async () => {
  const server = createMcpServer('stubborn', { version: '1' })
  server.tool('ask', { description: 'Asks', permission: READ }, async (_args, context) => {
    const schema = { type: 'object', properties: { x: { type: 'string' } } } as const
    const ask = () => context.elicit({ message: '?', schema, key: 'x' })
    return [await ask(), await ask()]
  })
  const client = new RawClient(server)
  const first = await call(client, { inputResponses: { x: accept({ x: 'first' }) } }, 'ask')
  expect(first.result.inputRequests).toHaveProperty('x')
  const { requestState } = first.result
  const last = await call(client, { requestState, inputResponses: { x: accept({ x: 'second' }) } }, 'ask')
  expect(last.result.structuredContent).toMatchObject([{ content: { x: 'first' } }, { content: { x: 'second' } }])
})
