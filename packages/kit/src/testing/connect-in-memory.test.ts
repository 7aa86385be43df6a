import { describe, expect, test } from 'vitest'
import { promise } from '../../../../tests/promises.ts'
import { getSessionId, getUserId } from '../identity/identity.ts'
import { createMcpServer } from '../mcp-server.ts'
import { READ } from '../permission.ts'
import { connectInMemory } from './testing.ts'

function createServer() {
  const server = createMcpServer('sample', { version: '1' })
  const input = { type: 'object', properties: { value: {} } } as const
  server.tool('echo', { description: '', permission: READ, input }, ({ value }, { log, progress }) => {
    log('info', 'echoing')
    progress(1, 2)
    return value
  })
  server.tool('who', { description: '', permission: READ }, () => ({ user: getUserId(), session: getSessionId() }))
  server.tool('wait', { description: '', permission: READ }, (_, { signal }) => {
    started()
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  server.resource('notes://all', { name: 'All' }, () => 'everything')
  server.resourceTemplate('notes://{id}', { name: 'One' }, ({ variables }) => variables.id)
  server.prompt('greet', { arguments: [{ name: 'who', required: true }] }, ({ who }) => `Greet ${who}.`)
  let started = (): void => undefined
  const waiting = new Promise<void>((resolve) => {
    started = resolve
  })
  return { server, waiting }
}

describe.each(['legacy', 'modern'] as const)(`a client in memory of the %s era (${promise('KIT-17')})`, (era) => {
  test('calls, lists and reads what its server offers', async () => {
    const client = await connectInMemory(createServer().server, { era })
    expect((await client.callTool('echo', { value: 'hi' })).content).toEqual([{ type: 'text', text: 'hi' }])
    expect((await client.listTools()).map(({ name }) => name)).toEqual(['echo', 'wait', 'who'])
    expect(await client.listResources()).toEqual([{ uri: 'notes://all', name: 'All' }])
    expect(await client.listResourceTemplates()).toMatchObject([{ uriTemplate: 'notes://{id}' }])
    expect(await client.listPrompts()).toMatchObject([{ name: 'greet' }])
    expect(await client.readResource('notes://7')).toMatchObject({ contents: [{ text: '7' }] })
    expect(await client.getPrompt('greet', { who: 'Ada' })).toMatchObject({
      messages: [{ content: { text: 'Greet Ada.' } }],
    })
    client.close()
  })

  test('calls for the given user, or for the test user', async () => {
    const { server } = createServer()
    const ada = await connectInMemory(server, { era, userId: 'ada', sessionId: 'one' })
    const content = [{ type: 'text', text: '{"user":"ada","session":"one"}' }]
    expect(await ada.callTool('who')).toMatchObject({ content })
    const sessions = new Set<unknown>()
    for (let count = 0; count < 2; count++) {
      const { structuredContent } = await (await connectInMemory(server, { era })).callTool('who')
      expect(structuredContent).toMatchObject({ user: 'test-user', session: expect.stringMatching(/^[0-9a-f-]{36}$/) })
      sessions.add((structuredContent as { session: string }).session)
    }
    expect(sessions.size).toBe(2)
  })

  test('collects the notifications of the server', async () => {
    const client = await connectInMemory(createServer().server, { era })
    const progress: unknown[] = []
    await client.callTool('echo', { value: 1 }, { onProgress: (each) => progress.push(each.progress) })
    expect(progress).toEqual([1])
    expect(client.notifications.map(({ method }) => method)).toEqual([
      'notifications/message',
      'notifications/progress',
    ])
    expect(client.notifications[0]?.params).toMatchObject({ level: 'info', data: 'echoing' })
  })

  test('throws protocol errors with their data, and returns error results', async () => {
    const client = await connectInMemory(createServer().server, { era })
    await expect(client.callTool('nope')).rejects.toMatchObject({
      code: 'INVALID_PARAMS',
      message: 'There is no tool "nope" here.',
      cause: { code: -32602 },
    })
    await expect(client.request('nope')).rejects.toMatchObject({ code: 'METHOD_UNKNOWN' })
    expect(await client.callTool('who', { extra: 1 })).toMatchObject({ isError: true })
  })

  test('cancels a call with its signal, and all of them when it is closed', async () => {
    const { server, waiting } = createServer()
    const client = await connectInMemory(server, { era })
    const cancellation = new AbortController()
    const cancelled = client.callTool('wait', {}, { signal: cancellation.signal })
    await waiting
    cancellation.abort(new Error('enough'))
    await expect(cancelled).rejects.toThrow('enough')
    await expect(client.callTool('wait', {}, { signal: cancellation.signal })).rejects.toThrow('enough')
    const open = client.callTool('wait')
    client.close()
    await expect(open).rejects.toMatchObject({ code: 'CALL_CANCELLED' })
    await expect(client.callTool('echo')).rejects.toMatchObject({ code: 'CALL_CANCELLED' })
  })

  test('answers forms by a callback, as often as it is asked, and passes its refusals on', async () => {
    const { server } = createServer()
    const schema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } as const
    server.tool('ask', { description: '', permission: READ }, async (_, { elicit }) => {
      const first = await elicit({ message: 'First name?', schema })
      const second = await elicit({ message: 'Last name?', schema })
      return [first, second].map((given) => (given.action === 'accept' ? given.content.name : given.action)).join(' ')
    })
    const asked: string[] = []
    const client = await connectInMemory(server, {
      era,
      onElicit: ({ message, requestedSchema }) => {
        asked.push(message)
        expect(requestedSchema).toMatchObject({ required: ['name'] })
        return message === 'First name?' ? { action: 'accept', content: { name: 'Ada' } } : { action: 'decline' }
      },
    })
    expect((await client.callTool('ask')).content).toEqual([{ type: 'text', text: 'Ada decline' }])
    expect(asked).toEqual(['First name?', 'Last name?'])
  })

  test('without a callback it declares that it cannot show forms', async () => {
    const { server } = createServer()
    server.tool('can', { description: '', permission: READ }, (_, { canAsk }) => String(canAsk('elicitation')))
    expect((await (await connectInMemory(server, { era })).callTool('can')).content).toMatchObject([{ text: 'false' }])
    const asking = await connectInMemory(server, { era, onElicit: () => ({ action: 'cancel' }) })
    expect((await asking.callTool('can')).content).toMatchObject([{ text: 'true' }])
  })

  test('completes arguments', async () => {
    const server = createMcpServer('sample', { version: '1' })
    const complete = (typed: string) => ['Ada', 'Alan', 'Grace'].filter((name) => name.startsWith(typed))
    server.prompt('greet', { arguments: [{ name: 'who', complete }] }, ({ who }) => `Greet ${who}.`)
    const client = await connectInMemory(server, { era })
    const completion = await client.complete({ type: 'ref/prompt', name: 'greet' }, { name: 'who', value: 'A' })
    expect(completion).toMatchObject({ values: ['Ada', 'Alan'] })
  })

  test('passes on only what a wire would carry', async () => {
    const client = await connectInMemory(createServer().server, { era })
    const value = { date: new Date(0), none: undefined } as never
    expect((await client.callTool('echo', { value })).structuredContent).toEqual({ date: '1970-01-01T00:00:00.000Z' })
  })
})
