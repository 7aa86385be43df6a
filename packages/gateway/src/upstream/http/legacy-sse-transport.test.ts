import { describe, expect, it } from 'vitest'
import type { HttpServerConfig } from '../../config/settings.ts'
import {
  httpConfig,
  initialize,
  openTransport,
  type Recorder,
  type ScriptedServer,
  startServer,
  textOf,
  toolCall,
} from './http-transport.test-kit.ts'
import { LegacySseTransport } from './legacy-sse-transport.ts'

interface Opened {
  readonly server: ScriptedServer
  readonly transport: LegacySseTransport
  readonly events: Recorder
}

const NOBODY = { onFrame() {}, onFailure() {}, onWarning() {}, onClose() {} }

const unopened = (server: ScriptedServer, changes: Partial<HttpServerConfig> = {}): LegacySseTransport =>
  new LegacySseTransport({ config: httpConfig(`${server.origin}/mcp`, { kind: 'sse', ...changes }) })

async function connect(args: readonly string[] = [], changes: Partial<HttpServerConfig> = {}): Promise<Opened> {
  const server = await startServer('--sse', ...args)
  const made = { server, ...(await openTransport(unopened(server, changes))) }
  await initialize(made.transport, made.events)
  return made
}

describe('HTTP with SSE, the transport of 2024-11-05', () => {
  it('posts to the address from the stream, and gets the answer on the stream', async () => {
    const { transport, events, server } = await connect()
    const request = toolCall('legacy', 'echo', { text: 'grüße' })
    transport.request(request)
    expect(textOf(await events.answer(request.id))).toBe('grüße')
    expect(events.frames.at(-1)?.during).toBeUndefined()
    const { requests } = await server.readLog()
    expect(requests.map(({ verb, path }) => `${verb} ${path}`)).toContain('POST /messages')
    expect(events.warnings).toEqual([])
  })

  it('accepts an address with a query, also as a complete URL', async () => {
    const server = await startServer('--sse', '--sse-endpoint', '/messages?sessionId=5')
    const { transport, events } = await openTransport(unopened(server))
    await initialize(transport, events)
    expect((await server.readLog()).requests.some(({ path }) => path === '/messages?sessionId=5')).toBe(true)
  })

  it.each(['http://127.0.0.2:1/messages', 'https://example.com/', 'http://['])(
    'refuses to post to %s',
    async (address) => {
      const server = await startServer('--sse', '--sse-endpoint', address)
      const refusal = unopened(server).open(NOBODY)
      await expect(refusal).rejects.toMatchObject({ code: 'UPSTREAM_PROTOCOL' })
      await server.until(({ streams }) => streams === 0)
      expect((await server.readLog()).requests.every(({ verb }) => verb === 'GET')).toBe(true)
    },
  )

  it('reports why it cannot be opened', async () => {
    const refusing = await startServer('--no-stream')
    await expect(unopened(refusing).open(NOBODY)).rejects.toMatchObject({ code: 'UPSTREAM_PROTOCOL' })
    const locked = await startServer('--sse', '--token', 'right')
    await expect(unopened(locked).open(NOBODY)).rejects.toMatchObject({ code: 'UPSTREAM_NEEDS_LOGIN' })
    await locked.stop()
    await expect(unopened(locked).open(NOBODY)).rejects.toMatchObject({ code: 'UPSTREAM_UNAVAILABLE' })
  })

  it('loses the connection when the stream ends', async () => {
    const { transport, events, server } = await connect()
    transport.request(toolCall('legacy', 'hang'))
    await server.command('/drop-streams')
    await events.until(() => events.closes[0])
    transport.request(toolCall('legacy', 'echo'))
    await events.until(() => events.failures[0])
    expect(events.closes).toHaveLength(1)
  })

  it('loses the connection when the server is killed', async () => {
    const { events, server } = await connect()
    await server.stop()
    expect(await events.until(() => events.closes[0])).toContain(server.origin)
  })

  it('fails a request that is refused', async () => {
    const { transport, events } = await connect()
    const request = toolCall('legacy', 'html-500')
    transport.request(request)
    expect((await events.failure(request.id)).message).toContain('HTTP 500')
    expect(events.closes).toEqual([])
  })

  it('fails the one call whose answer is over the limit', async () => {
    const { transport, events } = await connect([], { maxMessageBytes: 10_000 })
    const [big, small] = [
      toolCall('legacy', 'big', { bytes: 100_000 }),
      toolCall('legacy', 'echo', { text: 'x' }),
    ] as const
    transport.request(big)
    expect((await events.failure(big.id)).code).toBe('UPSTREAM_TOO_LARGE')
    transport.request(small)
    expect(textOf(await events.answer(small.id))).toBe('x')
  })

  it('passes on 20 MB', async () => {
    const { transport, events } = await connect()
    const request = toolCall('legacy', 'big')
    transport.request(request)
    expect(textOf(await events.answer(request.id))?.length).toBe(20_000_000)
  })

  it('leaves cancelling to a notification, and forgets the request', async () => {
    const { transport, events, server } = await connect()
    const request = toolCall('legacy', 'hang')
    transport.request(request)
    await server.until(({ hanging }) => hanging === 1)
    expect(transport.abandon(request.id)).toBe(false)
    await server.until(({ left }) => left === 1)
    expect(events.failures).toEqual([])
  })

  it('leaves no connection behind, and emits no event after it was closed', async () => {
    const { transport, events, server } = await connect()
    transport.request(toolCall('legacy', 'hang'))
    await server.until(({ hanging }) => hanging === 1)
    await transport.close()
    await server.until(({ streams, left }) => streams === 0 && left === 1)
    expect([...events.closes, ...events.failures]).toEqual([])
  })

  it('can be closed while it waits for the address', async () => {
    const server = await startServer('--sse', '--sse-endpoint', '\ndata: never told')
    const transport = unopened(server)
    const opening = transport.open(NOBODY)
    const closing = transport.close()
    await expect(opening).rejects.toMatchObject({ code: 'UPSTREAM_GONE' })
    await closing
  })
})
