import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { createScope, type Identity } from '../identity/identity.ts'
import { errorAnswer, INVALID_REQUEST, type Incoming, type RequestId } from '../json-rpc.ts'
import type { McpServer } from '../mcp-server.ts'
import type { Connection } from '../protocol/protocol.ts'
import { type HttpRefusal, sendRefusal } from './http-refusal.ts'
import { beginStream, PostExchange, writeEvent } from './post-exchange.ts'

/** How many notifications are buffered while nobody listens. A client that missed more can list again. */
const MAX_MISSED = 100
/** A client can abandon its calls and start others, so they are limited. */
const MAX_IN_FLIGHT = 1_000
const OVERLOADED = -32000

export interface PostedMessage {
  readonly response: ServerResponse
  readonly message: Exclude<Incoming, { kind: 'bad' }>
  /** The message as it was received. */
  readonly raw: unknown
  readonly acceptsStream: boolean
  /** The caller: the session's owner, with a token that may be newer than the session. */
  readonly caller: Identity | undefined
}

/** Who opened a session: a user, or a gateway, whose requests say for whom they are sent. */
export interface SessionOwner {
  readonly identity: Identity | undefined
  readonly takesCallers: boolean
}

/** A conversation that began with `initialize`. */
export class LegacySession {
  readonly id = randomUUID()
  readonly owner: Identity | undefined
  lastSeenAt: number
  readonly #server: McpServer
  readonly #connection: Connection
  readonly #exchanges = new Map<RequestId, PostExchange>()
  readonly #missed: object[] = []
  #stream: ServerResponse | undefined

  constructor(server: McpServer, { identity, takesCallers }: SessionOwner, now: number) {
    this.#server = server
    this.owner = identity
    this.lastSeenAt = now
    this.#connection = server.connect((message, during) => this.#send(message, during), {
      ...(identity && { identity }),
      takesCallers,
      onCancelled: (id) => this.#drop(id),
    })
  }

  /** No request is in flight. */
  get isIdle(): boolean {
    return this.#exchanges.size === 0 && this.#stream === undefined
  }

  /** No client is connected. Requests may still be running: in this era a disconnect does not cancel them. */
  get isAbandoned(): boolean {
    return this.#stream === undefined && ![...this.#exchanges.values()].some(({ isAwaited }) => isAwaited)
  }

  post({ response, message, raw, acceptsStream, caller }: PostedMessage): void {
    const scope = caller && createScope(caller, this.#server)
    if (message.kind !== 'request') {
      this.#connection.receive(raw, scope)
      response.writeHead(202, { 'content-length': 0 }).end()
      return
    }
    const { id } = message
    const refusal = this.#checkRequest(id)
    if (refusal !== undefined) return sendRefusal(response, { ...refusal, id })
    const headers = message.method === 'initialize' ? { 'mcp-session-id': this.id } : {}
    this.#exchanges.set(id, new PostExchange(response, { acceptsStream, toHttpStatus: () => 200, headers }))
    this.#connection.receive(raw, scope)
  }

  /** Opens the stream for messages outside any request. A client that reconnects replaces its old stream, which may be dead. */
  listen(response: ServerResponse): void {
    this.#stream?.end()
    this.#stream = response
    response.once('close', () => {
      if (this.#stream === response) this.#stream = undefined
    })
    beginStream(response, { 'mcp-session-id': this.id })
    for (const message of this.#missed.splice(0)) writeEvent(response, message)
  }

  end(): void {
    this.#connection.close()
    for (const exchange of this.#exchanges.values()) exchange.drop(404)
    this.#exchanges.clear()
    this.#stream?.end()
  }

  #checkRequest(id: RequestId): Pick<HttpRefusal, 'status' | 'error'> | undefined {
    if (this.#exchanges.has(id))
      return { status: 400, ...errorAnswer(INVALID_REQUEST, 'A request with this id is still in flight.') }
    if (this.#exchanges.size < MAX_IN_FLIGHT) return undefined
    return { status: 503, ...errorAnswer(OVERLOADED, `${MAX_IN_FLIGHT} requests of this session are in flight.`) }
  }

  #send(message: object, during: RequestId | undefined): boolean {
    const exchange = during === undefined ? undefined : this.#exchanges.get(during)
    if (!('method' in message)) {
      exchange?.answer(message)
      if (during !== undefined) this.#exchanges.delete(during)
      return true
    }
    if (exchange?.notify(message)) return true
    // A notification that belongs to a request is sent on that request's stream only; a question may use another stream.
    if (during !== undefined && !('id' in message)) return false
    if (this.#stream !== undefined) return writeEvent(this.#stream, message)
    if (during === undefined && this.#missed.push(message) > MAX_MISSED) this.#missed.shift()
    return during === undefined
  }

  /** A cancelled request gets no answer (2025-11-25, "Cancellation"), but its POST has to end. */
  #drop(id: RequestId): void {
    this.#exchanges.get(id)?.drop(202)
    this.#exchanges.delete(id)
  }
}
