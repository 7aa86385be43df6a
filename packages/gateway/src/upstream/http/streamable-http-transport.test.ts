import { describe, expect, it } from 'vitest'
import { createRequest, MODERN_META, startServer, textOf, toolCall } from './http-transport.test-kit.ts'
import { connect, connectLegacy, connectModern } from './streamable-http.test-kit.ts'

const eras = { modern: connectModern, legacy: connectLegacy } as const

describe.each(['modern', 'legacy'] as const)('Streamable HTTP in the %s era', (era) => {
  const start = eras[era]

  it.each(['json', 'sse'])('passes on an answer that comes as %s', async (answers) => {
    const { transport, events } = await start(['--answers', answers])
    const request = toolCall(era, 'echo', { text: 'grüße 😀' })
    transport.request(request)
    expect(textOf(await events.answer(request.id))).toBe('grüße 😀')
    expect(events.frames.at(-1)?.during).toBe(request.id)
  })

  it.each(['json', 'sse'])('passes on JSON with line breaks that comes as %s', async (answers) => {
    const { transport, events } = await start(['--answers', answers])
    const request = toolCall(era, 'pretty', { text: 'a\nb' })
    transport.request(request)
    expect(textOf(await events.answer(request.id))).toBe('a\nb')
  })

  it.each(['json', 'sse'])('passes on 20 MB that come as %s', async (answers) => {
    const { transport, events } = await start(['--answers', answers])
    const request = toolCall(era, 'big')
    transport.request(request)
    expect(textOf(await events.answer(request.id))?.length).toBe(20_000_000)
  })

  it.each(['json', 'sse'])('fails the one call whose answer is over the limit as %s', async (answers) => {
    const { transport, events } = await start(['--answers', answers], { maxMessageBytes: 10_000 })
    const request = toolCall(era, 'big', { bytes: 1_000_000 })
    const next = toolCall(era, 'echo', { text: 'still here' })
    transport.request(request)
    expect((await events.failure(request.id)).code).toBe('UPSTREAM_TOO_LARGE')
    transport.request(next)
    expect(textOf(await events.answer(next.id))).toBe('still here')
  })

  it('assigns many answers to their calls', async () => {
    const { transport, events } = await start(['--answers', 'sse'])
    const requests = Array.from({ length: 300 }, (_, n) => toolCall(era, 'echo', { text: `n${n}` }))
    for (const request of requests) transport.request(request)
    for (const [n, request] of requests.entries()) expect(textOf(await events.answer(request.id))).toBe(`n${n}`)
    expect(events.frames.every(({ message, during }) => message.id === during)).toBe(true)
  })

  it('passes on progress in order before the answer, with the id of its request', async () => {
    const { transport, events } = await start()
    const request = toolCall(era, 'progress', { count: 60 })
    transport.request(request)
    await events.answer(request.id)
    const own = events.frames.filter(({ during }) => during === request.id)
    expect(own.slice(0, 60).map(({ message }) => message.params?.progress)).toEqual(
      Array.from({ length: 60 }, (_, n) => n + 1),
    )
    expect(own[60]?.message.id).toBe(request.id)
  })

  it('reads a stream that comes byte by byte', async () => {
    const { transport, events } = await start()
    const request = toolCall(era, 'drip', { text: 'drop by drop' })
    transport.request(request)
    expect(textOf(await events.answer(request.id))).toBe('drop by drop')
  })

  it('drops answers with the id of another request', async () => {
    const { transport, events } = await start()
    const request = toolCall(era, 'wrong-id')
    transport.request(request)
    expect(textOf(await events.answer(request.id))).toBe('yours')
    expect(events.frames.some(({ message }) => message.id === request.id + 1)).toBe(false)
    expect(events.warnings).toHaveLength(1)
  })

  it('fails a call whose only answer has the id of another request', async () => {
    const { transport, events } = await start()
    const request = toolCall(era, 'wrong-id-json')
    transport.request(request)
    expect((await events.failure(request.id)).code).toBe('UPSTREAM_PROTOCOL')
    expect(events.frames.some(({ message }) => message.id === request.id + 1)).toBe(false)
  })

  it('passes on only the first of two answers', async () => {
    const { transport, events } = await start()
    const request = toolCall(era, 'two-answers')
    transport.request(request)
    await events.until(() => events.warnings[0])
    expect(
      events.frames.filter(({ message }) => message.id === request.id).map(({ message }) => textOf(message)),
    ).toEqual(['first'])
  })

  it('closes a stream that stays open after its answer', async () => {
    const { transport, events, server } = await start()
    const request = toolCall(era, 'linger')
    transport.request(request)
    await events.answer(request.id)
    expect((await server.until(({ left }) => left === 1)).hanging).toBe(0)
  })

  it('fails a call whose stream is cut before the answer', async () => {
    const { transport, events } = await start()
    const request = toolCall(era, 'drop')
    transport.request(request)
    expect((await events.failure(request.id)).code).toBe('UPSTREAM_DIED')
    expect(events.frames.at(-1)?.message.method).toBe('notifications/message')
    expect(events.closes).toEqual([])
  })

  it('assigns an error without an id to the request that it answers', async () => {
    const { transport, events } = await start()
    const request = toolCall(era, 'null-id')
    transport.request(request)
    expect(await events.answer(request.id)).toEqual({
      jsonrpc: '2.0',
      id: request.id,
      error: { code: -32600, message: 'the id was lost' },
    })
  })

  it('fails a request that was accepted without an answer', async () => {
    const { transport, events } = await start()
    const request = toolCall(era, 'accepted')
    transport.request(request)
    expect((await events.failure(request.id)).code).toBe('UPSTREAM_PROTOCOL')
  })

  it.each([
    ['html', 'UPSTREAM_PROTOCOL', 'Welcome'],
    ['zipped', 'UPSTREAM_PROTOCOL', 'neither JSON'],
    ['html-500', 'UPSTREAM_FAILED', 'HTTP 500'],
    ['busy', 'UPSTREAM_UNAVAILABLE', 'HTTP 503'],
    ['forbidden', 'UPSTREAM_NEEDS_LOGIN', 'HTTP 403'],
  ])('fails a call that is answered with %s as %s', async (tool, code, words) => {
    const { transport, events } = await start()
    const request = toolCall(era, tool)
    transport.request(request)
    const error = await events.failure(request.id)
    expect(error.code).toBe(code)
    expect(error.message).toContain(words)
    expect(error.hint).toBeDefined()
  })

  it('shows neither markup, control characters nor credentials that a server repeats', async () => {
    const { transport, events } = await start([], { headers: { Authorization: 'Bearer top-secret-token' } })
    const request = toolCall(era, 'html-500')
    transport.request(request)
    const { text } = await events.failure(request.id)
    expect(text).toContain('Oops')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
    expect(text).not.toMatch(/[<>\x00-\x1f]|secret/)
  })

  it('cancels by closing the stream, if the era cancels that way', async () => {
    const { transport, events, server } = await start()
    const request = toolCall(era, 'hang')
    transport.request(request)
    await server.until(({ hanging }) => hanging === 1)
    expect(transport.abandon(request.id)).toBe(era === 'modern')
    await server.until(({ left }) => left === 1)
    expect(events.failures).toEqual([])
  })

  it('leaves no connection behind', async () => {
    const { transport, events, server } = await start()
    transport.request(toolCall(era, 'hang'))
    await server.until(({ hanging }) => hanging === 1)
    await transport.close()
    await server.until(({ left, streams }) => left === 1 && streams === 0)
    expect(events.closes).toEqual([])
    expect(events.failures).toEqual([])
  })

  it('treats a server as lost after repeated connection failures', async () => {
    const { transport, events, server } = await start(['--no-stream'])
    await server.stop()
    await events.until(() => {
      if (events.closes.length === 0) transport.request(toolCall(era, 'echo'))
      return events.closes[0]
    })
    for (const { error } of events.failures) expect(error.code).toMatch(/^UPSTREAM_(UNAVAILABLE|DIED)$/)
    expect(events.closes).toEqual([expect.stringContaining(server.origin)])
  })
})

describe('Streamable HTTP in the modern era', () => {
  it('repeats version, method and name in headers, and uses base64 if HTTP could not carry the name', async () => {
    const { transport, events } = await connectModern()
    for (const [name, sent] of [
      ['headers', 'headers'],
      ['grüße', '=?base64?Z3LDvMOfZQ==?='],
      [' x', '=?base64?IHg=?='],
      ['a\r\nb: c', '=?base64?YQ0KYjogYw==?='],
      ['=?base64?eA==?=', '=?base64?PT9iYXNlNjQ/ZUE9PT89?='],
    ] as const) {
      const request = toolCall('modern', name)
      transport.request(request)
      expect((await events.answer(request.id)).error?.code, sent).not.toBe(-32020)
    }
  })

  it('probes with modern headers before anything is agreed, and cancels the probe by closing the stream', async () => {
    const { transport, events } = await connect(await startServer('--era', 'modern'))
    const probe = createRequest('server/discover', { _meta: MODERN_META })
    transport.request(probe)
    expect((await events.answer(probe.id)).result).toBeDefined()
    const second = createRequest('server/discover', { _meta: MODERN_META })
    transport.request(second)
    expect(transport.abandon(second.id)).toBe(true)
  })

  it('has no session, no notification stream and no closing request', async () => {
    const { transport, events, server } = await connectModern()
    const request = toolCall('modern', 'echo')
    transport.request(request)
    await events.answer(request.id)
    await transport.close()
    const { requests, deleted } = await server.readLog()
    expect(requests.map(({ verb }) => verb)).toEqual(['POST'])
    expect(requests[0]?.headers).not.toHaveProperty('mcp-session-id')
    expect(deleted).toBe(0)
  })

  it('passes on an error that comes with HTTP 404', async () => {
    const { transport, events } = await connectModern()
    const request = toolCall('modern', 'not-found')
    transport.request(request)
    expect((await events.answer(request.id)).error?.code).toBe(-32601)
  })
})
