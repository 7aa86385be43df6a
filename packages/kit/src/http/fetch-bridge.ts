import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  type Server,
  type ServerResponse,
  request as send,
} from 'node:http'
import { type Duplex, duplexPair, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as NodeReadableStream } from 'node:stream/web'

type NodeHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Responses with these statuses must have no body. */
const EMPTY_STATUSES = new Set([204, 205, 304])

/**
 * Answers a `Request` with a handler of node:http, over a connection in memory: so streams, cancellation and all checks
 * of headers are the same as over the network.
 */
export class FetchBridge {
  readonly #server: Server
  readonly #connections = new Set<Duplex>()

  constructor(handler: NodeHandler) {
    this.#server = createServer({ requireHostHeader: false }, (request, response) => void handler(request, response))
  }

  fetch(request: Request): Promise<Response> {
    const [near, far] = duplexPair()
    this.#connections.add(near)
    near.once('close', () => {
      this.#connections.delete(near)
      // The two ends do not close each other.
      far.destroy()
    })
    // Only sockets have timeouts. A client that does not read is the concern of the server that received its request.
    this.#server.emit('connection', Object.assign(far, { setTimeout: () => far }))
    return exchange(request, near)
  }

  close(): void {
    for (const connection of this.#connections) connection.destroy()
  }
}

function exchange(request: Request, connection: Duplex): Promise<Response> {
  const { pathname, search, host } = new URL(request.url)
  const headers: OutgoingHttpHeaders = { host, ...Object.fromEntries(request.headers) }
  return new Promise((resolve, reject) => {
    const outgoing = send({
      ...{ method: request.method, path: `${pathname}${search}`, headers, setHost: false },
      createConnection: () => connection,
      signal: request.signal,
    })
    outgoing.once('error', reject)
    outgoing.once('response', (incoming) => resolve(toResponse(incoming, connection)))
    if (request.body === null) outgoing.end()
    // If the handler refuses the request before it read all of it, the answer counts and not this failure.
    else pipeline(Readable.fromWeb(request.body as NodeReadableStream), outgoing).catch(() => undefined)
  })
}

function toResponse(incoming: IncomingMessage, connection: Duplex): Response {
  const status = incoming.statusCode ?? 500
  const headers = new Headers()
  for (const [name, values] of Object.entries(incoming.headersDistinct))
    if (!HOP_BY_HOP.has(name)) for (const value of values ?? []) headers.append(name, value)
  if (!EMPTY_STATUSES.has(status)) {
    incoming.once('close', () => connection.destroy())
    return new Response(Readable.toWeb(incoming) as ReadableStream, { status, headers })
  }
  incoming.resume().once('close', () => connection.destroy())
  return new Response(null, { status, headers })
}

/** These describe the connection in memory, not the response. */
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'transfer-encoding'])
