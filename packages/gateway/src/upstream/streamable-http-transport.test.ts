import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { HttpServerConfig } from '../config/settings.ts'
import {
  httpConfig,
  initialize,
  MODERN_META,
  opened,
  outgoing,
  type Recorder,
  type ScriptedServer,
  startServer,
  textOf,
  toolCall,
} from './http-transport.test-kit.ts'
import { StreamableHttpTransport } from './streamable-http-transport.ts'

interface Opened {
  readonly server: ScriptedServer
  readonly transport: StreamableHttpTransport
  readonly events: Recorder
}

async function connect(
  server: ScriptedServer,
  changes: Partial<HttpServerConfig> = {},
  path = '/mcp',
): Promise<Opened> {
  const config = httpConfig(server.origin + path, changes)
  return { server, ...(await opened(new StreamableHttpTransport({ config }))) }
}

async function modern(args: readonly string[] = [], changes: Partial<HttpServerConfig> = {}): Promise<Opened> {
  const made = await connect(await startServer('--era', 'modern', ...args), changes)
  made.transport.agreed('2026-07-28')
  return made
}

async function legacy(args: readonly string[] = [], changes: Partial<HttpServerConfig> = {}): Promise<Opened> {
  const made = await connect(await startServer('--era', 'legacy', ...args), changes)
  await initialize(made.transport, made.events)
  return made
}

const eras = { modern, legacy } as const

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

  it('keeps many answers apart', async () => {
    const { transport, events } = await start(['--answers', 'sse'])
    const requests = Array.from({ length: 300 }, (_, n) => toolCall(era, 'echo', { text: `n${n}` }))
    for (const request of requests) transport.request(request)
    for (const [n, request] of requests.entries()) expect(textOf(await events.answer(request.id))).toBe(`n${n}`)
    expect(events.frames.every(({ message, during }) => message.id === during)).toBe(true)
  })

  it('passes on progress in order before the answer, as of its request', async () => {
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

  it('lets no answer with a foreign id through', async () => {
    const { transport, events } = await start()
    const request = toolCall(era, 'wrong-id')
    transport.request(request)
    expect(textOf(await events.answer(request.id))).toBe('yours')
    expect(events.frames.some(({ message }) => message.id === request.id + 1)).toBe(false)
    expect(events.troubles).toHaveLength(1)
  })

  it('fails a call whose only answer has a foreign id', async () => {
    const { transport, events } = await start()
    const request = toolCall(era, 'wrong-id-json')
    transport.request(request)
    expect((await events.failure(request.id)).code).toBe('UPSTREAM_PROTOCOL')
    expect(events.frames.some(({ message }) => message.id === request.id + 1)).toBe(false)
  })

  it('passes on the first of two answers only', async () => {
    const { transport, events } = await start()
    const request = toolCall(era, 'two-answers')
    transport.request(request)
    await events.until(() => events.troubles[0])
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

  it('gives an error without an id to the request that it answers', async () => {
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
    ['html-500', 'UPSTREAM_PROTOCOL', 'HTTP 500'],
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

  it('tells the server by leaving, where that is how the era cancels', async () => {
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

  it('counts a server as lost once it cannot be connected to again and again', async () => {
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
  it('repeats version, method and name in headers, and base64 where HTTP could not carry the name', async () => {
    const { transport, events } = await modern()
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

  it('probes with modern headers before anything is agreed, and the probe is cancelled by leaving', async () => {
    const { transport, events } = await connect(await startServer('--era', 'modern'))
    const probe = outgoing('server/discover', { _meta: MODERN_META })
    transport.request(probe)
    expect((await events.answer(probe.id)).result).toBeDefined()
    const second = outgoing('server/discover', { _meta: MODERN_META })
    transport.request(second)
    expect(transport.abandon(second.id)).toBe(true)
  })

  it('has no session, no notification stream and no farewell', async () => {
    const { transport, events, server } = await modern()
    const request = toolCall('modern', 'echo')
    transport.request(request)
    await events.answer(request.id)
    await transport.close()
    const { requests, deleted } = await server.seen()
    expect(requests.map(({ verb }) => verb)).toEqual(['POST'])
    expect(requests[0]?.headers).not.toHaveProperty('mcp-session-id')
    expect(deleted).toBe(0)
  })

  it('passes on an error that comes with HTTP 404', async () => {
    const { transport, events } = await modern()
    const request = toolCall('modern', 'not-found')
    transport.request(request)
    expect((await events.answer(request.id)).error?.code).toBe(-32601)
  })
})

describe('Streamable HTTP in the legacy era', () => {
  it('carries session and version after the handshake, and neither before', async () => {
    const { transport, events, server } = await legacy()
    const request = toolCall('legacy', 'headers')
    transport.request(request)
    const headers = JSON.parse(textOf(await events.answer(request.id)) ?? '') as Record<string, string>
    expect(headers).toMatchObject({
      'mcp-protocol-version': '2025-11-25',
      accept: 'application/json, text/event-stream',
    })
    expect(headers['mcp-session-id']).toBeDefined()
    expect(headers).not.toHaveProperty('mcp-method')
    const first = (await server.seen()).requests[0]?.headers
    expect(first).not.toHaveProperty('mcp-session-id')
    expect(first).not.toHaveProperty('mcp-protocol-version')
  })

  it('sends no request before the server has taken the end of the handshake', async () => {
    const { transport, events, server } = await connect(await startServer('--era', 'legacy'))
    await initialize(transport, events)
    const [dropped, kept] = [toolCall('legacy', 'echo'), toolCall('legacy', 'echo')] as const
    transport.request(dropped)
    transport.request(kept)
    transport.abandon(dropped.id)
    await events.answer(kept.id)
    const posts = (await server.seen()).requests.filter(({ verb }) => verb === 'POST')
    expect(posts.map(({ message }) => message?.method)).toEqual([
      'initialize',
      'notifications/initialized',
      'tools/call',
    ])
  })

  it('hears notifications on a stream of their own, also after that stream was cut', async () => {
    const { transport, events, server } = await legacy()
    for (const round of [1, 2, 3]) {
      await server.until(({ streams }) => streams === 1)
      transport.request(toolCall('legacy', 'list-changed'))
      const told = await events.until(() => {
        const own = events.frames.filter(({ message }) => message.method === 'notifications/tools/list_changed')
        return own.length === round ? own.at(-1) : undefined
      })
      expect(told.during).toBeUndefined()
      await server.tell('/drop-streams')
    }
    await server.until(({ streams }) => streams === 1)
    const gets = (await server.seen()).requests.filter(({ verb }) => verb === 'GET')
    expect(gets.at(-1)?.headers['last-event-id']).toMatch(/^e\d+$/)
  })

  it('does without that stream where the server has none', async () => {
    const { transport, events, server } = await legacy(['--no-stream'])
    await server.until(({ requests }) => requests.some(({ verb }) => verb === 'GET'))
    const request = toolCall('legacy', 'echo', { text: 'fine' })
    transport.request(request)
    expect(textOf(await events.answer(request.id))).toBe('fine')
    expect(events.troubles).toEqual([])
  })

  it('resumes a cut stream whose events have ids', async () => {
    const { transport, events } = await legacy()
    const request = toolCall('legacy', 'drop-resumable')
    transport.request(request)
    expect(textOf(await events.answer(request.id))).toBe('resumed')
    expect(events.frames.at(-1)?.during).toBe(request.id)
  })

  it('fails a call whose cut stream the server does not resume', async () => {
    const { transport, events } = await legacy(['--no-stream'])
    const request = toolCall('legacy', 'drop-resumable')
    transport.request(request)
    expect((await events.failure(request.id)).message).toContain('405')
  })

  it.each([
    ['404', '404'],
    ['400', '400'],
  ])('loses the connection when the session is forgotten with %s', async (_name, status) => {
    const { transport, events } = await legacy(['--forget-after', '1', '--forget-status', status, '--no-stream'])
    const [first, second] = [toolCall('legacy', 'echo'), toolCall('legacy', 'echo')] as const
    transport.request(first)
    await events.answer(first.id)
    transport.request(second)
    expect(await events.until(() => events.closes[0])).toContain('session')
    expect(events.failures).toEqual([])
    transport.request(toolCall('legacy', 'echo'))
    await events.until(() => events.failures[0])
    expect(events.closes).toHaveLength(1)
  })

  it('notices without a call that the session is forgotten', async () => {
    const { events, server } = await legacy()
    await server.until(({ streams }) => streams === 1)
    await server.tell('/forget')
    await server.tell('/drop-streams')
    expect(await events.until(() => events.closes[0])).toContain('session')
  })

  it('notices without a call that the server is gone', async () => {
    const { events, server } = await legacy()
    await server.until(({ streams }) => streams === 1)
    await server.stop()
    expect(await events.until(() => events.closes[0])).toContain(server.origin)
  })

  it('works without a session', async () => {
    const { transport, events, server } = await legacy(['--no-session'])
    const request = toolCall('legacy', 'echo', { text: 'free' })
    transport.request(request)
    expect(textOf(await events.answer(request.id))).toBe('free')
    await transport.close()
    expect((await server.seen()).deleted).toBe(0)
  })

  it('ends its session when it is closed', async () => {
    const { transport, server } = await legacy()
    await transport.close()
    const { requests, deleted } = await server.seen()
    expect(deleted).toBe(1)
    expect(requests.at(-1)?.headers['mcp-session-id']).toBeDefined()
  })

  it('can answer a question of the server while every connection for calls is taken', async () => {
    const { transport, events } = await legacy()
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

describe('where Streamable HTTP goes, and does not go', () => {
  async function ask(server: ScriptedServer, path: string): Promise<Recorder> {
    const { transport, events } = await connect(server, {}, path)
    transport.agreed('2026-07-28')
    transport.request({ ...toolCall('modern', 'echo', { text: 'found' }), id: 1 })
    await events.until(() => events.failures.length + events.frames.length > 0)
    return events
  }

  it('follows one redirect of the same origin that keeps the method', async () => {
    const { transport, events } = await connect(await startServer(), {}, '/moved')
    transport.agreed('2026-07-28')
    const request = toolCall('modern', 'echo', { text: 'found' })
    transport.request(request)
    expect(textOf(await events.answer(request.id))).toBe('found')
  })

  it.each([
    ['/moved-twice', 'another path of its own'],
    ['/found', 'another path of its own'],
    ['/away', 'http://127.0.0.2:1 '],
  ])('does not follow %s', async (path, words) => {
    const events = await ask(await startServer(), path)
    expect(events.failures[0]?.error.code).toBe('UPSTREAM_PROTOCOL')
    expect(events.failures[0]?.error.message).toContain(words)
    expect(events.failures[0]?.error.text).not.toMatch(/pass|hidden/)
  })

  it('says that a login is wanted, and how to give one', async () => {
    const server = await startServer('--token', 'right-token')
    const events = await ask(server, '/mcp?key=hidden-key')
    expect(events.failures[0]?.error.code).toBe('UPSTREAM_NEEDS_LOGIN')
    expect(events.failures[0]?.error.hint).toContain('headers')
    expect(events.failures[0]?.error.text).not.toContain('hidden')
  })

  it('sends the headers of the operator, without the line break that came with them', async () => {
    const server = await startServer('--token', 'right-token')
    const { transport, events } = await connect(server, {
      headers: { Authorization: 'Bearer right-token\n', Accept: 'text/html' },
    })
    transport.agreed('2026-07-28')
    const request = toolCall('modern', 'headers')
    transport.request(request)
    expect(JSON.parse(textOf(await events.answer(request.id)) ?? '')).toMatchObject({
      authorization: 'Bearer right-token',
      accept: 'application/json, text/event-stream',
    })
  })

  it.each([
    [{ headers: { 'x-key': 'one\ntwo-secret' } }, 'x-key'],
    [{ headers: { 'bad name': 'x' } }, 'bad name'],
    [{ url: 'ftp://example.com/' }, 'ftp:'],
    [{ url: 'no url' }, 'no URL'],
  ])('refuses a configuration that cannot work: %j', async (changes, words) => {
    const transport = new StreamableHttpTransport({ config: httpConfig('http://127.0.0.1:1/', changes) })
    const refusal = transport.open({ onFrame() {}, onFailure() {}, onTrouble() {}, onClose() {} })
    await expect(refusal).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(refusal).rejects.toThrow(words)
    await expect(refusal).rejects.not.toThrow('two-secret')
  })

  it('can be closed while it opens', async () => {
    const transport = new StreamableHttpTransport({ config: httpConfig('http://127.0.0.1:1/') })
    const opening = transport.open({ onFrame() {}, onFailure() {}, onTrouble() {}, onClose() {} })
    const closing = transport.close()
    await expect(opening).rejects.toMatchObject({ code: 'UPSTREAM_DIED' })
    await closing
  })

  it('names a server that refuses connections, and lives on after one refusal', async () => {
    const server = await startServer()
    await server.stop()
    const events = await ask(server, '/mcp?key=hidden')
    expect(events.failures[0]?.error.code).toBe('UPSTREAM_UNAVAILABLE')
    expect(events.failures[0]?.error.text).toContain(`${server.origin} refused the connection`)
    expect(events.failures[0]?.error.text).not.toContain('hidden')
    expect(events.closes).toEqual([])
  })

  it('names a host that does not exist', async () => {
    const config = httpConfig('http://nowhere.invalid/mcp?key=hidden')
    const { transport, events } = await opened(new StreamableHttpTransport({ config }))
    const request = toolCall('modern', 'echo')
    transport.request(request)
    const error = await events.failure(request.id)
    expect(error.code).toBe('UPSTREAM_UNAVAILABLE')
    expect(error.text).toContain('http://nowhere.invalid')
    expect(error.text).not.toContain('hidden')
  })
})

describe('Streamable HTTP against something that is no HTTP server', () => {
  async function listen(onSocket: (socket: Socket) => void): Promise<string> {
    const server: Server = createServer(onSocket).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    return `http://127.0.0.1:${(server.address() as { port: number }).port}/`
  }

  async function failureOf(url: string): Promise<string> {
    const { transport, events } = await opened(new StreamableHttpTransport({ config: httpConfig(url) }))
    const request = toolCall('modern', 'echo')
    transport.request(request)
    return (await events.failure(request.id)).code
  }

  it('fails the call when it talks nonsense', async () => {
    expect(
      await failureOf(await listen((socket) => socket.once('data', () => socket.end('SSH-2.0-OpenSSH\r\n')))),
    ).toBe('UPSTREAM_PROTOCOL')
  })

  it('fails the call when it hangs up', async () => {
    expect(await failureOf(await listen((socket) => socket.once('data', () => socket.resetAndDestroy())))).toBe(
      'UPSTREAM_DIED',
    )
  })

  it('fails the call when TLS is not spoken', async () => {
    const url = await listen((socket) => socket.once('data', () => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n')))
    expect(await failureOf(url.replace('http:', 'https:'))).toBe('UPSTREAM_UNAVAILABLE')
  })

  it('fails the call when the headers never end', async () => {
    const url = await listen((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.write(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(100_000)}`))
    })
    expect(await failureOf(url)).toBe('UPSTREAM_PROTOCOL')
  })
})
