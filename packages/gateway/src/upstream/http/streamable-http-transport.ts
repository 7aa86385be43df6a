import { isJsonObject, SallyportError } from '@sallyport/core'
import type { HttpServerConfig } from '../../config/config.ts'
import type { OutgoingRequest, Transport, TransportEvents } from '../transport.ts'
import { type CallPort, HttpCall, type UnansweredEnd } from './http-call.ts'
import { type HttpEndpoint, openHttpEndpoint } from './http-endpoint.ts'
import { HttpExchange } from './http-exchange.ts'
import { HttpNotice } from './http-notice.ts'
import type { ReplyEnd } from './http-reply.ts'
import { InFlight } from './in-flight.ts'
import { McpHeaders } from './mcp-headers.ts'
import { NotificationStream } from './notification-stream.ts'
import type { ResponseHeaders } from './response-head.ts'
import { isSessionLost } from './session-loss.ts'

interface Connection {
  readonly endpoint: HttpEndpoint
  readonly headers: McpHeaders
  readonly events: TransportEvents
  readonly port: CallPort
}

/** After so many connections in a row that could not be made, the server counts as gone. */
const MAX_UNREACHABLE = 2
/** How long a stream may stay open after its answer, and how long a farewell may take, in milliseconds. */
const GRACE = 1_000
/** How long a server may take to take a notification: each one that hangs holds a connection. */
const NOTICE_PATIENCE = 10_000

/** MCP over Streamable HTTP, in both eras: each message is a POST, its answer is in the response. */
export class StreamableHttpTransport implements Transport {
  readonly #config: HttpServerConfig
  readonly #calls = new InFlight<HttpCall>()
  readonly #notices = new Set<HttpNotice>()
  #onQuiet: (() => void) | undefined
  #connection: Connection | undefined
  #closing: Promise<void> | undefined
  #notifications: NotificationStream | undefined
  /** Requests that wait until the server has taken `notifications/initialized`: one POST may overtake another. */
  #held: OutgoingRequest[] | undefined
  #unreachable = 0
  #sweepTimer: NodeJS.Timeout | undefined

  constructor(options: { readonly config: HttpServerConfig }) {
    this.#config = options.config
  }

  /** Makes no connection yet: the first message does. */
  async open(events: TransportEvents): Promise<void> {
    const endpoint = await openHttpEndpoint(this.#config)
    if (this.#closing !== undefined) {
      await endpoint.close()
      throw closedError(endpoint)
    }
    const headers = new McpHeaders(endpoint.headers)
    const port: CallPort = {
      endpoint,
      headers,
      onAccepted: (call, received) => this.#accepted(call, received),
      onFrame: (frame, id) => events.onFrame(frame, id),
      onTrouble: (text) => events.onTrouble(text),
      onAnswered: () => this.#sweepLater(),
      onOver: (call, end) => this.#over(call, end),
    }
    this.#connection = { endpoint, headers, events, port }
  }

  request(request: OutgoingRequest): void {
    if (this.#connection === undefined) return
    if (this.#closing !== undefined) {
      this.#connection.events.onFailure(request.id, closedError(this.#connection.endpoint))
      return
    }
    if (this.#held !== undefined) {
      this.#held.push(request)
      return
    }
    const call = new HttpCall(this.#connection.port, request)
    this.#calls.add(call)
    call.start()
  }

  send(text: string): void {
    if (this.#connection === undefined || this.#closing !== undefined) return
    const { endpoint, headers, events } = this.#connection
    const method = methodOf(text)
    if (method === 'notifications/initialized') this.#held = []
    const notice = new HttpNotice(endpoint, {
      lane: 'side',
      patience: NOTICE_PATIENCE,
      path: endpoint.path,
      headers: headers.post({ method, name: undefined }),
      text,
      onTrouble: (trouble) => events.onTrouble(trouble),
      onOver: (end) => {
        this.#notices.delete(notice)
        if (this.#notices.size === 0) this.#onQuiet?.()
        this.#noticed(method, end)
      },
    })
    this.#notices.add(notice)
    notice.start()
  }

  abandon(id: number): boolean {
    const held = this.#held?.findIndex((request) => request.id === id) ?? -1
    if (held !== -1) {
      this.#held?.splice(held, 1)
      return true
    }
    const call = this.#calls.find(id)
    if (call !== undefined) this.#drop(call)
    return this.#connection?.headers.isModern === true || call?.request.call.method === 'server/discover'
  }

  agreed(protocolVersion: string): void {
    this.#connection?.headers.agreed(protocolVersion)
  }

  close(): Promise<void> {
    this.#closing ??= this.#leave()
    return this.#closing
  }

  #accepted(call: HttpCall, headers: ResponseHeaders): void {
    this.#unreachable = 0
    if (call.request.call.method !== 'initialize') return
    const session = headers['mcp-session-id']
    if (session === undefined) return
    // The protocol allows visible ASCII only; anything else could not be sent back.
    if (typeof session === 'string' && /^[\x21-\x7e]{1,1024}$/.test(session))
      this.#connection?.headers.beginSession(session)
    else this.#connection?.events.onTrouble('a session id that is no header text')
  }

  #drop(call: HttpCall): void {
    this.#calls.delete(call)
    call.cancel()
  }

  #sweepLater(): void {
    this.#sweepTimer ??= setTimeout(() => this.#sweep(), GRACE)
  }

  /** Ends the streams that stay open long after their answer: each holds one of our connections. */
  #sweep(): void {
    this.#sweepTimer = undefined
    for (const call of this.#calls.filter((each) => each.outstays())) this.#drop(call)
    if (this.#calls.filter((call) => call.isAnswered).length > 0) this.#sweepLater()
  }

  #over(call: HttpCall, end: UnansweredEnd | undefined): void {
    this.#calls.delete(call)
    if (end === undefined || this.#isLoss(end)) return
    this.#connection?.events.onFailure(call.request.id, end.error)
    this.#countReach(end)
  }

  #noticed(method: string, end: ReplyEnd): void {
    if (this.#closing !== undefined || this.#isLoss(end)) return
    if (end.kind !== 'done')
      this.#connection?.events.onTrouble(`${method || 'an answer'} was not taken: ${end.error.message}`)
    if (method === 'notifications/initialized') this.#begin()
    this.#countReach(end)
  }

  /** The server knows that the handshake is over: what waited for that goes out. */
  #begin(): void {
    const held = this.#held ?? []
    this.#held = undefined
    for (const request of held) this.request(request)
    if (this.#connection?.headers.isLegacy) this.#listen(this.#connection)
  }

  #listen({ endpoint, headers, events }: Connection): void {
    if (this.#notifications !== undefined) return
    this.#notifications = new NotificationStream({
      endpoint,
      headers,
      onFrame: (frame) => events.onFrame(frame, undefined),
      onTrouble: (text) => events.onTrouble(text),
      onAlive: () => {
        this.#unreachable = 0
      },
      onLost: (end) => {
        if (!this.#isLoss(end)) this.#countReach(end)
      },
    })
    this.#notifications.open()
  }

  /** True when the server forgot our session; then the connection is already over. */
  #isLoss(end: ReplyEnd): boolean {
    const headers = this.#connection?.headers
    if (headers === undefined || !isSessionLost(end, headers.session)) return false
    headers.endSession()
    this.#gone('the server ended the session')
    return true
  }

  #countReach(end: ReplyEnd): void {
    const isUnreachable = end.kind === 'broken' && end.error.code === 'UPSTREAM_UNAVAILABLE'
    this.#unreachable = isUnreachable ? this.#unreachable + 1 : 0
    if (isUnreachable && this.#unreachable >= MAX_UNREACHABLE) {
      this.#connection?.headers.endSession()
      this.#gone(end.error.message)
    }
  }

  #gone(reason: string): void {
    if (this.#closing !== undefined) return
    this.#closing = this.#leave()
    this.#connection?.events.onClose(reason)
  }

  async #leave(): Promise<void> {
    clearTimeout(this.#sweepTimer)
    this.#notifications?.close()
    for (const call of this.#calls.clear()) call.cancel()
    this.#held = undefined
    await this.#lastWords()
    if (this.#connection === undefined) return
    const { endpoint, headers } = this.#connection
    if (headers.session !== undefined) await sayFarewell(endpoint, headers.farewell())
    await endpoint.close()
  }

  /** A cancellation that was sent just before still arrives: the server would go on for nobody. */
  async #lastWords(): Promise<void> {
    if (this.#notices.size > 0)
      await withinGrace((done) => {
        this.#onQuiet = done
      })
    for (const notice of this.#notices) notice.cancel()
    this.#notices.clear()
  }
}

/** Tells a legacy server that its session can be forgotten. It may refuse, be gone, or be slow: we go all the same. */
function sayFarewell(endpoint: HttpEndpoint, headers: readonly string[]): Promise<void> {
  const request = { method: 'DELETE', lane: 'side', path: endpoint.path, headers } as const
  return withinGrace((done) => {
    new HttpExchange(endpoint, request, { onHead: done, onBody: () => {}, onEnd: done, onError: done })
  })
}

function withinGrace(begin: (done: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, GRACE)
    begin(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

const closedError = ({ peer }: HttpEndpoint): SallyportError =>
  new SallyportError('UPSTREAM_GONE', `The connection to ${peer.origin} is closed.`)

/** Empty for an answer, which has none. */
function methodOf(text: string): string {
  const message: unknown = JSON.parse(text)
  return isJsonObject(message) && typeof message.method === 'string' ? message.method : ''
}
