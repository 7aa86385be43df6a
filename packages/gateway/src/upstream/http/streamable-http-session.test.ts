import { describe, expect, it } from 'vitest'
import { initialize, startServer, textOf, toolCall } from './http-transport.test-kit.ts'
import { connect, connectLegacy } from './streamable-http.test-kit.ts'

describe('Streamable HTTP in the legacy era', () => {
  it('sends session and version after the handshake, and neither before', async () => {
    const { transport, events, server } = await connectLegacy()
    const request = toolCall('legacy', 'headers')
    transport.request(request)
    const headers = JSON.parse(textOf(await events.answer(request.id)) ?? '') as Record<string, string>
    expect(headers).toMatchObject({
      'mcp-protocol-version': '2025-11-25',
      accept: 'application/json, text/event-stream',
    })
    expect(headers['mcp-session-id']).toBeDefined()
    expect(headers).not.toHaveProperty('mcp-method')
    const first = (await server.readLog()).requests[0]?.headers
    expect(first).not.toHaveProperty('mcp-session-id')
    expect(first).not.toHaveProperty('mcp-protocol-version')
  })

  it('sends no request before the server has accepted the end of the handshake', async () => {
    const { transport, events, server } = await connect(await startServer('--era', 'legacy', '--strict'))
    await initialize(transport, events)
    const [dropped, kept] = [toolCall('legacy', 'echo'), toolCall('legacy', 'echo')] as const
    transport.request(dropped)
    transport.request(kept)
    transport.abandon(dropped.id)
    expect((await events.answer(kept.id)).error).toBeUndefined()
    const posts = (await server.readLog()).requests.filter(({ verb }) => verb === 'POST')
    expect(posts.map(({ message }) => message?.method)).toEqual([
      'initialize',
      'notifications/initialized',
      'tools/call',
    ])
  })

  it('sends what waited for the end of the handshake also if the server forgot the session by then', async () => {
    const { transport, events } = await connect(await startServer('--era', 'legacy', '--forget-after', '0'))
    await initialize(transport, events)
    const request = toolCall('legacy', 'echo')
    transport.request(request)
    await events.until(() => events.expired.includes(request.id))
  })

  it('receives notifications on a separate stream, also after that stream was cut', async () => {
    const { transport, events, server } = await connectLegacy()
    for (const round of [1, 2, 3]) {
      await server.until(({ streams }) => streams === 1)
      transport.request(toolCall('legacy', 'list-changed'))
      const notified = await events.until(() => {
        const own = events.frames.filter(({ message }) => message.method === 'notifications/tools/list_changed')
        return own.length === round ? own.at(-1) : undefined
      })
      expect(notified.during).toBeUndefined()
      await server.command('/drop-streams')
    }
    await server.until(({ streams }) => streams === 1)
    const gets = (await server.readLog()).requests.filter(({ verb }) => verb === 'GET')
    expect(gets.at(-1)?.headers['last-event-id']).toMatch(/^e\d+$/)
  })

  it('works without that stream if the server has none', async () => {
    const { transport, events, server } = await connectLegacy(['--no-stream'])
    await server.until(({ requests }) => requests.some(({ verb }) => verb === 'GET'))
    const request = toolCall('legacy', 'echo', { text: 'fine' })
    transport.request(request)
    expect(textOf(await events.answer(request.id))).toBe('fine')
    expect(events.warnings).toEqual([])
  })

  it('resumes a cut stream whose events have ids', async () => {
    const { transport, events } = await connectLegacy()
    const request = toolCall('legacy', 'drop-resumable')
    transport.request(request)
    expect(textOf(await events.answer(request.id))).toBe('resumed')
    expect(events.frames.at(-1)?.during).toBe(request.id)
  })

  it('fails a call whose cut stream the server does not resume', async () => {
    const { transport, events } = await connectLegacy(['--no-stream'])
    const request = toolCall('legacy', 'drop-resumable')
    transport.request(request)
    expect((await events.failure(request.id)).message).toContain('405')
  })

  it.each([
    ['404', '404'],
    ['400', '400'],
  ])('reports each request that meets a session forgotten with %s', async (_name, status) => {
    const { transport, events } = await connectLegacy(['--forget-after', '1', '--forget-status', status, '--no-stream'])
    const [first, second] = [toolCall('legacy', 'echo'), toolCall('legacy', 'echo')] as const
    transport.request(first)
    await events.answer(first.id)
    const third = toolCall('legacy', 'echo')
    transport.request(second)
    transport.request(third)
    await events.until(() => events.expired.length === 2)
    expect(new Set(events.expired)).toEqual(new Set([second.id, third.id]))
    expect([...events.failures, ...events.closes]).toEqual([])
  })

  it('notices without a call that the session is forgotten', async () => {
    const { events, server } = await connectLegacy()
    await server.until(({ streams }) => streams === 1)
    await server.command('/forget')
    await server.command('/drop-streams')
    expect(await events.until(() => events.expired.length === 1)).toBe(true)
    expect(events.expired).toEqual([undefined])
    expect(events.closes).toEqual([])
  })

  it('notices without a call that the server is gone', async () => {
    const { events, server } = await connectLegacy()
    await server.until(({ streams }) => streams === 1)
    await server.stop()
    expect(await events.until(() => events.closes[0])).toContain(server.origin)
  })

  it('works without a session', async () => {
    const { transport, events, server } = await connectLegacy(['--no-session'])
    const request = toolCall('legacy', 'echo', { text: 'free' })
    transport.request(request)
    expect(textOf(await events.answer(request.id))).toBe('free')
    await transport.close()
    expect((await server.readLog()).deleted).toBe(0)
  })

  it('ends its session when it is closed', async () => {
    const { transport, server } = await connectLegacy()
    await transport.close()
    const { requests, deleted } = await server.readLog()
    expect(deleted).toBe(1)
    expect(requests.at(-1)?.headers['mcp-session-id']).toBeDefined()
  })

  it('still delivers a cancellation that was sent just before it is closed', async () => {
    const { transport, server } = await connectLegacy()
    await server.until(({ streams }) => streams === 1)
    transport.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
    await transport.close()
    const notified = (await server.readLog()).requests.slice(-2).map(({ verb, message }) => message?.method ?? verb)
    expect(notified).toEqual(['notifications/cancelled', 'DELETE'])
  })

  it('can answer a question of the server while every connection for calls is in use', async () => {
    const { transport, events } = await connectLegacy()
    const requests = Array.from({ length: 140 }, () => toolCall('legacy', 'ask'))
    for (const request of requests) transport.request(request)
    let answered = 0
    await events.until(() => {
      const questions = events.frames.filter(({ message }) => message.method === 'ping')
      for (const { message } of questions.slice(answered))
        transport.send(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: {} }))
      answered = questions.length
      return answered === requests.length
    })
    for (const request of requests) expect(textOf(await events.answer(request.id))).toBe('they answered')
  })
})
