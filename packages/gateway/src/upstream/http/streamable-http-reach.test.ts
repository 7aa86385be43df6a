import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { TestPermit } from '../permit.test-kit.ts'
import {
  httpConfig,
  openTransport,
  type Recorder,
  type ScriptedServer,
  startServer,
  textOf,
  toolCall,
} from './http-transport.test-kit.ts'
import { connect } from './streamable-http.test-kit.ts'
import { StreamableHttpTransport } from './streamable-http-transport.ts'

describe('the addresses that Streamable HTTP contacts', () => {
  async function ask(server: ScriptedServer, path: string): Promise<Recorder> {
    const { transport, events } = await connect(server, {}, path)
    transport.setProtocolVersion('2026-07-28')
    transport.request({ ...toolCall('modern', 'echo', { text: 'found' }), id: 1 })
    await events.until(() => events.failures.length + events.frames.length > 0)
    return events
  }

  it('follows one redirect of the same origin that preserves the method', async () => {
    const { transport, events } = await connect(await startServer(), {}, '/moved')
    transport.setProtocolVersion('2026-07-28')
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

  it('reports that a login is required, and how to give one', async () => {
    const server = await startServer('--token', 'right-token')
    const events = await ask(server, '/mcp?key=hidden-key')
    expect(events.failures[0]?.error.code).toBe('UPSTREAM_NEEDS_LOGIN')
    expect(events.failures[0]?.error.hint).toContain('headers')
    expect(events.failures[0]?.error.text).not.toContain('hidden')
  })

  it('sends the headers of the operator, without a trailing line break', async () => {
    const server = await startServer('--token', 'right-token')
    const { transport, events } = await connect(server, {
      headers: { Authorization: 'Bearer right-token\n', Accept: 'text/html', Host: 'elsewhere.example' },
    })
    transport.setProtocolVersion('2026-07-28')
    const request = toolCall('modern', 'headers')
    transport.request(request)
    expect(JSON.parse(textOf(await events.answer(request.id)) ?? '')).toMatchObject({
      authorization: 'Bearer right-token',
      accept: 'application/json, text/event-stream',
      host: expect.stringContaining('127.0.0.1'),
    })
  })

  it.each([
    [{ headers: { 'x-key': 'one\ntwo-secret' } }, 'x-key'],
    [{ headers: { 'bad name': 'x' } }, 'bad name'],
    [{ url: 'ftp://example.com/' }, 'ftp:'],
    [{ url: 'no url' }, 'not a valid URL'],
  ])('refuses a configuration that cannot work: %j', async (changes, words) => {
    const transport = new StreamableHttpTransport({ config: httpConfig('http://127.0.0.1:1/', changes) })
    const refusal = transport.open({ onFrame() {}, onFailure() {}, onWarning() {}, onClose() {} })
    await expect(refusal).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
    await expect(refusal).rejects.toThrow(words)
    await expect(refusal).rejects.not.toThrow('two-secret')
  })

  it('can be closed while it opens', async () => {
    const transport = new StreamableHttpTransport({ config: httpConfig('http://127.0.0.1:1/') })
    const opening = transport.open({ onFrame() {}, onFailure() {}, onWarning() {}, onClose() {} })
    const closing = transport.close()
    await expect(opening).rejects.toMatchObject({ code: 'UPSTREAM_GONE' })
    await closing
  })

  it('names a server that refuses connections, and stays open after one refusal', async () => {
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
    const { transport, events } = await openTransport(new StreamableHttpTransport({ config }))
    const request = toolCall('modern', 'echo')
    transport.request(request)
    const error = await events.failure(request.id)
    expect(error.code).toBe('UPSTREAM_UNAVAILABLE')
    expect(error.text).toContain('http://nowhere.invalid')
    expect(error.text).not.toContain('hidden')
  })
})

describe('Streamable HTTP against something that is not an HTTP server', () => {
  async function listen(onSocket: (socket: Socket) => void): Promise<string> {
    const server: Server = createServer(onSocket).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    return `http://127.0.0.1:${(server.address() as { port: number }).port}/`
  }

  async function failureOf(url: string): Promise<string> {
    const { transport, events } = await openTransport(new StreamableHttpTransport({ config: httpConfig(url) }))
    const request = toolCall('modern', 'echo')
    transport.request(request)
    return (await events.failure(request.id)).code
  }

  it('fails the call when it sends invalid data', async () => {
    expect(
      await failureOf(await listen((socket) => socket.once('data', () => socket.end('SSH-2.0-OpenSSH\r\n')))),
    ).toBe('UPSTREAM_PROTOCOL')
  })

  it('fails the call when it hangs up', async () => {
    expect(await failureOf(await listen((socket) => socket.once('data', () => socket.resetAndDestroy())))).toBe(
      'UPSTREAM_DIED',
    )
  })

  it('fails the call when it redirects elsewhere and never stops sending', async () => {
    const head =
      'HTTP/1.1 307 Gone\r\nlocation: http://127.0.0.2:1/\r\ntransfer-encoding: chunked\r\n\r\n5\r\nwords\r\n'
    const gone: Promise<unknown>[] = []
    const url = await listen((socket) => {
      gone.push(once(socket, 'close'))
      socket.once('data', () => socket.write(head))
    })
    expect(await failureOf(url)).toBe('UPSTREAM_PROTOCOL')
    await Promise.all(gone)
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

it('a request that finds every connection in use needs a valid permit when its turn comes', async () => {
  const { transport, events } = await connect(await startServer())
  transport.setProtocolVersion('2026-07-28')
  const first = Array.from({ length: 128 }, () => toolCall('modern', 'echo', { text: 'found' }))
  const late = toolCall('modern', 'echo', { text: 'late' })
  for (const request of first) transport.request(request)
  const permit = new TestPermit()
  transport.request({ ...late, call: { ...late.call, permit } })
  permit.becomeStale()
  await events.until(() => events.failures.length > 0)
  expect(events.failures).toMatchObject([{ id: late.id, error: { code: 'MODE_FORBIDS' } }])
  for (const { id } of first) expect(textOf(await events.answer(id))).toBe('found')
})
