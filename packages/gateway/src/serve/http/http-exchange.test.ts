import { once } from 'node:events'
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http'
import { connect } from 'node:net'
import { SallyportError } from '@sallyport/core'
import { readBody } from '@sallyport/kit/http-intake'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { deferred } from '../deferred.test-kit.ts'
import { ReplayBudget } from '../legacy/replay-budget.ts'
import { SessionStreams } from '../legacy/session-streams.ts'
import { preserializedMessage, resultMessage } from '../rpc/wire-message.ts'
import { beginEventStream } from './event-stream.ts'
import { HttpConnections } from './http-connections.ts'
import { HttpExchange, type HttpRequest, sendRefusal } from './http-exchange.ts'
import { NodeResponseWriter } from './node-response-writer.ts'
import type { ResponseWriter } from './response-writer.ts'

type Handler = (request: HttpRequest, answer: ResponseWriter) => void

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
  vi.useRealTimers()
})

/** The server's end of every connection so far. */
const closings: Promise<unknown>[] = []

async function listen(server: Server): Promise<number> {
  server.on('connection', (socket) => closings.push(new Promise((resolve) => socket.once('close', resolve))))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as { port: number }).port
}

async function listenByNode(handler: (request: IncomingMessage, answer: NodeResponseWriter) => void): Promise<number> {
  const server = createServer((request, response) => handler(request, new NodeResponseWriter(request, response)))
  closers.push(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })
  return listen(server)
}

async function listenForWhole(handler: Handler): Promise<number> {
  const server = createServer((_request, response) => response.writeHead(500).end('it did not come whole'))
  const connections = new HttpConnections(
    server,
    { firstRequestMs: 1e6, nextRequestMs: 1e6, checkIntervalMs: 1e6 },
    handler,
  )
  closers.push(async () => {
    server.close()
    connections.closeIdle()
    connections.closeAll()
    await once(server, 'close')
  })
  return listen(server)
}

/** Requests of both parsers must get the same answers. */
const READERS = [
  ['by node:http', listenByNode],
  ['in one piece', listenForWhole],
] as const

interface Asked {
  readonly body?: string
  readonly accept?: string
}

async function ask(port: number, { body = '{}', accept = 'application/json, text/event-stream' }: Asked = {}) {
  const response = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', body, headers: { accept } })
  const [type, length] = ['content-type', 'content-length'].map((name) => response.headers.get(name))
  return { status: response.status, type, length, text: await response.text() }
}

const ANSWER = { message: resultMessage(1, { text: 'grüße' }), status: 200 }

describe.each(READERS)('the answer to a POST that was read %s', (_reader, listen) => {
  it.each([
    ['text/event-stream, application/json', 200, 'text/event-stream'],
    ['text/event-stream', 200, 'text/event-stream'],
    ['application/json, text/event-stream', 200, 'application/json'],
    ['application/json;q=1,text/event-stream', 200, 'application/json'],
    ['*/*', 200, 'application/json'],
    ['text/event-stream, application/json', 404, 'application/json'],
  ])('is of the kind that the client names first: %s, with status %d', async (accept, status, type) => {
    const port = await listen((request, answer) => new HttpExchange(request, answer).reply({ ...ANSWER, status }))
    const answer = await ask(port, { accept })
    const [message] = ANSWER.message
    const text = type === 'text/event-stream' ? `event: message\ndata: ${message}\n\n` : message
    // Complete with its first byte: a stream would have no length.
    expect(answer).toEqual({ status, type, text, length: String(Buffer.byteLength(text as string)) })
  })

  it('is the only event of a stream, however many pieces it has', async () => {
    for (const text of ['ü', 'ü'.repeat(200_000)]) {
      const message = preserializedMessage(1, [Buffer.from(JSON.stringify({ text }))])
      const port = await listen((request, answer) => new HttpExchange(request, answer).reply({ message, status: 200 }))
      const answer = await ask(port, { accept: 'text/event-stream, application/json' })
      expect(answer.type).toBe('text/event-stream')
      expect(answer.text).toBe(`event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{"text":"${text}"}}\n\n`)
    }
  })

  it('can be resumed in a session, if the client prefers streams', async () => {
    const streams = new SessionStreams({
      sessionId: 'one',
      protocolVersion: '2025-11-25',
      budget: new ReplayBudget(),
      now: Date.now,
    })
    const port = await listen((request, answer) =>
      new HttpExchange(request, answer, { streams, requestId: 1 }).reply(ANSWER),
    )
    await ask(port)
    expect(streams.bytes).toBe(0)
    const { text } = await ask(port, { accept: 'text/event-stream, application/json' })
    expect(text).toMatch(/^id: (\S+)-0\nretry: \d+\ndata: *\n\nid: \1-1\nevent: message\ndata: \{.*grüße/)
    expect(streams.bytes).toBeGreaterThan(0)
    streams.close()
  })

  it('is plain JSON if no notice comes before it, however many pieces it has', async () => {
    const large = Buffer.from(JSON.stringify({ text: 'ü'.repeat(200_000) }))
    for (const message of [
      resultMessage(1, { text: 'grüße' }),
      preserializedMessage(1, [Buffer.from('{"a":"ü"}')]),
      preserializedMessage(1, [large]),
    ]) {
      const port = await listen((request, answer) => new HttpExchange(request, answer).reply({ message, status: 200 }))
      const { type, text } = await ask(port)
      expect(type).toBe('application/json')
      expect(text).toBe(Buffer.concat(message.map((piece) => Buffer.from(piece))).toString())
    }
  })

  it('becomes an event stream with the first notice', async () => {
    const port = await listen((request, answer) => {
      const exchange = new HttpExchange(request, answer)
      exchange.notify({ method: 'n', params: { text: 'one\ntwo' } })
      exchange.reply(ANSWER)
      exchange.notify({ method: 'too late' })
      exchange.reply(ANSWER)
    })
    const { type, text } = await ask(port)
    expect(type).toBe('text/event-stream')
    expect(text.split('\n\n').filter(Boolean)).toEqual([
      'event: message\ndata: {"jsonrpc":"2.0","method":"n","params":{"text":"one\\ntwo"}}',
      'event: message\ndata: {"jsonrpc":"2.0","id":1,"result":{"text":"grüße"}}',
    ])
  })

  it('omits the notices for a client that accepts no streams', async () => {
    const port = await listen((request, answer) => {
      const exchange = new HttpExchange(request, answer)
      exchange.notify({ method: 'n' })
      exchange.reply(ANSWER)
    })
    expect(await ask(port, { accept: 'application/json' })).toMatchObject({ type: 'application/json' })
  })

  it('is a stream for a client that accepts one, if the call takes long', async () => {
    const port = await listen((request, answer) => {
      const exchange = new HttpExchange(request, answer)
      exchange.beginStream()
      exchange.beginStream()
      exchange.reply(ANSWER)
    })
    expect(await ask(port)).toMatchObject({ type: 'text/event-stream', status: 200 })
    for (const accept of ['*/*', 'application/json'])
      expect(await ask(port, { accept })).toMatchObject({ type: 'application/json' })
  })

  it('is written only once', async () => {
    const port = await listen((request, answer) => {
      const exchange = new HttpExchange(request, answer)
      exchange.reply(ANSWER)
      exchange.reply(ANSWER)
      exchange.notify({ method: 'too late' })
      sendRefusal(answer, new SallyportError('INTERNAL', 'too late'))
    })
    expect((await ask(port)).text).toBe('{"jsonrpc":"2.0","id":1,"result":{"text":"grüße"}}')
  })

  it('can be a refusal with the status of its kind', async () => {
    const port = await listen((_request, answer) =>
      sendRefusal(answer, new SallyportError('SESSION_UNKNOWN', 'None.'), { id: 7, headers: { allow: 'POST' } }),
    )
    const { status, text } = await ask(port)
    expect(status).toBe(404)
    expect(JSON.parse(text)).toMatchObject({ id: 7, error: { code: -32001, data: { code: 'SESSION_UNKNOWN' } } })
  })
})

describe.each(READERS)(
  `a client read %s that disconnects before its answer (${promise('GW-6')})`,
  (_reader, listen) => {
    it('cancels the call if a disconnect means that', async () => {
      const cancelled = deferred<string>()
      const arrived = deferred<undefined>()
      const port = await listen((request, answer) => {
        const exchange = new HttpExchange(request, answer)
        exchange.cancelOnClose()
        exchange.cancellation.onCancel(cancelled.resolve)
        arrived.resolve(undefined)
      })
      const asked = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/mcp' }).on('error', () => {})
      asked.end('{}')
      await arrived.promise
      asked.destroy()
      expect(await cancelled.promise).toBe('the client closed the stream')
    })

    it('cancels it also if it disconnected before the check', async () => {
      const arrived = deferred<() => HttpExchange>()
      const gone = deferred<undefined>()
      const port = await listen((request, answer) => {
        answer.onDisconnect(() => gone.resolve(undefined))
        arrived.resolve(() => new HttpExchange(request, answer))
      })
      const asked = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/mcp' }).on('error', () => {})
      asked.end('{}')
      const takeUp = await arrived.promise
      asked.destroy()
      await gone.promise
      const exchange = takeUp()
      exchange.cancelOnClose()
      expect(exchange.cancellation.reason).toBe('the client closed the stream')
    })

    it('does not cancel a call that was answered', async () => {
      const answered = deferred<HttpExchange>()
      const port = await listen((request, answer) => {
        const exchange = new HttpExchange(request, answer)
        exchange.cancelOnClose()
        exchange.reply(ANSWER)
        answered.resolve(exchange)
      })
      const asked = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/mcp' })
      asked.end('{}')
      const [response] = (await once(asked, 'response')) as [IncomingMessage]
      const { socket } = response
      response.resume()
      await once(response, 'end')
      // Destroying a finished request leaves its connection to the next one.
      socket.destroy()
      await Promise.all(closings)
      expect((await answered.promise).cancellation.reason).toBeUndefined()
    })

    it('leaves no timer behind if a notice follows', async () => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
      const left = deferred<HttpExchange>()
      const arrived = deferred<undefined>()
      const port = await listen((request, answer) => {
        const exchange = new HttpExchange(request, answer)
        answer.onDisconnect(() => left.resolve(exchange))
        arrived.resolve(undefined)
      })
      const before = vi.getTimerCount()
      const asked = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/mcp' }).on('error', () => {})
      asked.end('{}')
      await arrived.promise
      asked.destroy()
      const exchange = await left.promise
      exchange.notify({ method: 'n' })
      exchange.reply(ANSWER)
      expect(vi.getTimerCount()).toBe(before)
    })

    it('ends the timer of its stream', async () => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
      const closed = deferred<undefined>()
      const port = await listen((_request, answer) => {
        const response = answer.open()
        beginEventStream(response)
        beginEventStream(response)
        response.once('close', () => closed.resolve(undefined))
      })
      const before = vi.getTimerCount()
      const asked = httpRequest({ port, host: '127.0.0.1', method: 'POST', path: '/mcp' }).on('error', () => {})
      asked.end('{}')
      await once(asked, 'response')
      expect(vi.getTimerCount()).toBe(before + 1)
      asked.destroy()
      await closed.promise
      expect(vi.getTimerCount()).toBe(before)
    })
  },
)

describe(`the body of a request (${promise('GW-21')})`, () => {
  /** The outcomes of reading the bodies, in the order of arrival. */
  async function bodies(limit: number) {
    const outcomes: Promise<string>[] = []
    const waiting: (() => void)[] = []
    const port = await listenByNode((request, answer) => {
      const outcome = readBody(request, { limit, hint: '' }).then(
        (bytes) => bytes.toString(),
        (error: unknown) => (error instanceof SallyportError ? error.code : `not an expected error: ${String(error)}`),
      )
      outcomes.push(outcome)
      for (const wake of waiting.splice(0)) wake()
      void outcome.then(() => answer.send(ANSWER))
    })
    const first = async (): Promise<string> => {
      if (outcomes.length === 0) await new Promise<void>((resolve) => waiting.push(resolve))
      return outcomes[0] as Promise<string>
    }
    return { port, first }
  }

  it('is read completely, in however many pieces it arrives', async () => {
    const { port, first } = await bodies(1_000_000)
    const body = 'ü'.repeat(300_000)
    await ask(port, { body })
    expect(await first()).toBe(body)
  })

  it('is refused unread if its declared length is too large, otherwise as soon as it is too large', async () => {
    for (const headers of ['content-length: 5000', 'transfer-encoding: chunked']) {
      const { port, first } = await bodies(1_000)
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      socket.write(`POST / HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n`)
      if (headers.startsWith('transfer')) socket.write(`7d0\r\n${'x'.repeat(2_000)}\r\n`)
      expect(await first()).toBe('BODY_TOO_LARGE')
      socket.destroy()
    }
  })

  it('that breaks off is a refusal, not a bug', async () => {
    const { port, first } = await bodies(1_000)
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n123')
    const outcome = first()
    await new Promise((resolve) => socket.once('connect', resolve))
    socket.resetAndDestroy()
    expect(await outcome).toBe('INVALID_REQUEST')
  })

  it('of a client that disconnected before it was read is a refusal, too', async () => {
    const outcome = deferred<string>()
    const port = await listenByNode((request) => {
      request.once('close', () =>
        readBody(request, { limit: 1_000, hint: '' }).then(
          () => outcome.resolve('read'),
          (error: SallyportError) => outcome.resolve(error.code),
        ),
      )
      request.on('error', () => {})
    })
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    socket.end('POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n123')
    expect(await outcome.promise).toBe('INVALID_REQUEST')
  })
})
