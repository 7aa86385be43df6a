import { isJsonObject, MAY_HAVE_RUN_HINT, SallyportError } from '@sallyport/core'
import type { HttpServerConfig } from '../../config/config.ts'
import type { EncodedRequest, Frame, Transport, TransportEvents } from '../transport.ts'
import { HttpCall, type HttpCallContext, isSessionLost, openSideStream, type UnansweredEnd } from './http-call.ts'
import { type HttpEndpoint, openHttpEndpoint } from './http-endpoint.ts'
import { HttpExchange } from './http-exchange.ts'
import { HttpReply, type ReplyEnd, type ReplyListener } from './http-reply.ts'
import { InFlightCalls } from './in-flight-calls.ts'
import { McpHeaders } from './mcp-headers.ts'
import { OneWayPost } from './one-way-post.ts'
import { reconnectDelay } from './reconnect-delay.ts'
import type { ResponseHeaders } from './response-head.ts'

interface Connection {
  readonly endpoint: HttpEndpoint
  readonly headers: McpHeaders
  readonly events: TransportEvents
  readonly context: HttpCallContext
}

/** After this many failed connections in a row the server counts as gone. */
const MAX_UNREACHABLE = 2
/** How long a stream may stay open after its answer, and how long the closing request may take, in milliseconds. */
const GRACE_MS = 1_000
/** How long a server may take to accept a notification: each one that hangs holds a connection. */
const POST_TIMEOUT_MS = 10_000

/** MCP over Streamable HTTP, in both eras: each message is a POST, and its answer is in the response. */
export class StreamableHttpTransport implements Transport {
  readonly #config: HttpServerConfig
  readonly #calls = new InFlightCalls<HttpCall>()
  readonly #posts = new Set<OneWayPost>()
  #onPostsDone: (() => void) | undefined
  #connection: Connection | undefined
  #closing: Promise<void> | undefined
  #notifications: NotificationStream | undefined
  /** Requests that wait until the server has accepted `notifications/initialized`: one POST may overtake another. */
  #queued: EncodedRequest[] | undefined
  #unreachable = 0
  /** The server forgot our session: there is none to end. */
  #isSessionOver = false
  #sweepTimer: NodeJS.Timeout | undefined

  constructor(options: { readonly config: HttpServerConfig }) {
    this.#config = options.config
  }

  /** Opens no connection yet: the first message does. */
  async open(events: TransportEvents): Promise<void> {
    const endpoint = await openHttpEndpoint(this.#config)
    if (this.#closing !== undefined) {
      await endpoint.close()
      throw closedError(endpoint)
    }
    const headers = new McpHeaders(endpoint.headers)
    const context: HttpCallContext = {
      endpoint,
      headers,
      onAccepted: (call, received) => this.#onAccepted(call, received),
      onFrame: (frame, id) => events.onFrame(frame, id),
      onWarning: (text) => events.onWarning(text),
      onAnswered: () => this.#sweepLater(),
      onSessionLost: () => this.#onSessionLost(),
      onFinished: (call, end) => this.#onFinished(call, end),
    }
    this.#connection = { endpoint, headers, events, context }
  }

  request(request: EncodedRequest): void {
    if (this.#connection === undefined) return
    if (this.#closing !== undefined) {
      this.#connection.events.onFailure(request.id, closedError(this.#connection.endpoint))
      return
    }
    if (this.#queued !== undefined) {
      this.#queued.push(request)
      return
    }
    const call = new HttpCall(this.#connection.context, request)
    this.#calls.add(call)
    call.start()
  }

  send(text: string, waiting?: number): void {
    if (this.#connection === undefined || this.#closing !== undefined) return
    const { endpoint, headers, events } = this.#connection
    const method = parseMethod(text)
    if (method === 'notifications/initialized') this.#queued = []
    const notice = new OneWayPost(endpoint, {
      lane: 'side',
      timeoutMs: POST_TIMEOUT_MS,
      path: endpoint.path,
      headers: headers.forPost({ method, name: undefined }),
      text,
      onWarning: (warning) => events.onWarning(warning),
      onFinished: (end) => {
        this.#posts.delete(notice)
        if (this.#posts.size === 0) this.#onPostsDone?.()
        this.#onPosted(method, end, waiting)
      },
    })
    this.#posts.add(notice)
    notice.start()
  }

  abandon(id: number): boolean {
    const held = this.#queued?.findIndex((request) => request.id === id) ?? -1
    if (held !== -1) {
      this.#queued?.splice(held, 1)
      return true
    }
    const call = this.#calls.find(id)
    if (call !== undefined) this.#drop(call)
    return this.#connection?.headers.isModern === true || call?.request.call.method === 'server/discover'
  }

  /** Whether the server began a session with `initialize`. */
  get hasSession(): boolean {
    return this.#connection?.headers.session !== undefined
  }

  setProtocolVersion(protocolVersion: string): void {
    this.#connection?.headers.setVersion(protocolVersion)
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  #onAccepted(call: HttpCall, headers: ResponseHeaders): void {
    this.#unreachable = 0
    if (call.request.call.method !== 'initialize') return
    const session = headers['mcp-session-id']
    if (session === undefined) return
    // The protocol allows only visible ASCII; anything else could not be sent back.
    if (typeof session === 'string' && /^[\x21-\x7e]{1,1024}$/.test(session))
      this.#connection?.headers.beginSession(session)
    else this.#connection?.events.onWarning('a session id that is not valid in a header')
  }

  #drop(call: HttpCall): void {
    this.#calls.delete(call)
    call.cancel()
  }

  #sweepLater(): void {
    this.#sweepTimer ??= setTimeout(() => this.#sweep(), GRACE_MS)
  }

  /** Ends the streams that stay open long after their answer: each holds one of our connections. */
  #sweep(): void {
    this.#sweepTimer = undefined
    for (const call of this.#calls.filter((each) => each.checkLingering())) this.#drop(call)
    if (this.#calls.filter((call) => call.isAnswered).length > 0) this.#sweepLater()
  }

  #onFinished(call: HttpCall, end: UnansweredEnd | undefined): void {
    this.#calls.delete(call)
    if (end === undefined || this.#handleSessionLoss(end, call.request.id)) return
    this.#connection?.events.onFailure(call.request.id, end.error)
    this.#countUnreachable(end)
  }

  #onPosted(method: string, end: ReplyEnd, waiting: number | undefined): void {
    if (this.#closing !== undefined) return
    const isLost = this.#handleSessionLoss(end)
    if (method === 'notifications/initialized') this.#onInitialized()
    if (isLost) {
      this.#failUnanswered(waiting)
      return
    }
    if (end.kind !== 'done')
      this.#connection?.events.onWarning(`${method || 'an answer'} was not accepted: ${end.error.message}`)
    this.#countUnreachable(end)
  }

  /** The server asked a question, and did not take the answer: this call would last until its timeout. */
  #failUnanswered(id: number | undefined): void {
    const call = id === undefined ? undefined : this.#calls.find(id)
    if (call === undefined || this.#connection === undefined) return
    this.#drop(call)
    const { endpoint, events } = this.#connection
    const message = `${endpoint.peer.origin} asked a question, and forgot the session before the answer.`
    events.onFailure(call.id, new SallyportError('UPSTREAM_DIED', message, { hint: MAY_HAVE_RUN_HINT }))
  }

  /** The server knows that the handshake is over, or refuses to: send the requests that waited for it. */
  #onInitialized(): void {
    const held = this.#queued ?? []
    this.#queued = undefined
    for (const request of held) this.request(request)
    if (this.#connection?.headers.isLegacy && !this.#isSessionOver) this.#listen(this.#connection)
  }

  #listen({ endpoint, headers, events }: Connection): void {
    if (this.#notifications !== undefined) return
    this.#notifications = new NotificationStream({
      endpoint,
      headers,
      onFrame: (frame) => events.onFrame(frame, undefined),
      onWarning: (text) => events.onWarning(text),
      onAlive: () => {
        this.#unreachable = 0
      },
      onLost: (end) => {
        if (!this.#handleSessionLoss(end)) this.#countUnreachable(end)
      },
    })
    this.#notifications.open()
  }

  /**
   * True if the server forgot our session. Other calls stay in flight: what the server had begun may still be answered,
   * and what it refuses is reported one by one.
   */
  #handleSessionLoss(end: ReplyEnd, id?: number): boolean {
    if (this.#connection === undefined || !isSessionLost(end, this.#connection.headers.session)) return false
    this.#onSessionLost(id)
    return true
  }

  #onSessionLost(id?: number): void {
    this.#isSessionOver = true
    this.#notifications?.close()
    this.#connection?.events.onSessionExpired?.(id)
  }

  #countUnreachable(end: ReplyEnd): void {
    const isUnreachable = end.kind === 'broken' && end.error.code === 'UPSTREAM_UNAVAILABLE'
    this.#unreachable = isUnreachable ? this.#unreachable + 1 : 0
    if (isUnreachable && this.#unreachable >= MAX_UNREACHABLE) {
      this.#connection?.headers.endSession()
      this.#onLost(end.error.message)
    }
  }

  #onLost(reason: string): void {
    if (this.#closing !== undefined) return
    this.#closing = this.#shutDown()
    this.#connection?.events.onClose(reason)
  }

  async #shutDown(): Promise<void> {
    clearTimeout(this.#sweepTimer)
    this.#notifications?.close()
    for (const call of this.#calls.clear()) call.cancel()
    this.#queued = undefined
    await this.#flushPosts()
    if (this.#connection === undefined) return
    const { endpoint, headers } = this.#connection
    if (headers.session !== undefined && !this.#isSessionOver) await deleteSession(endpoint, headers.forDelete())
    await endpoint.close()
  }

  /** A cancellation that was sent just before still arrives: otherwise the server would go on working for nobody. */
  async #flushPosts(): Promise<void> {
    if (this.#posts.size > 0)
      await withinGrace((done) => {
        this.#onPostsDone = done
      })
    for (const notice of this.#posts) notice.cancel()
    this.#posts.clear()
  }
}

/** Asks a legacy server to end its session. The server may refuse, be gone or be slow: we close in any case. */
function deleteSession(endpoint: HttpEndpoint, headers: readonly string[]): Promise<void> {
  const request = { method: 'DELETE', lane: 'side', path: endpoint.path, headers } as const
  return withinGrace((done) => {
    new HttpExchange(endpoint, request, { onHead: done, onBody: () => {}, onEnd: done, onError: done })
  })
}

function withinGrace(begin: (done: () => void) => void): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, GRACE_MS)
    begin(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

const closedError = ({ peer }: HttpEndpoint): SallyportError =>
  new SallyportError('UPSTREAM_GONE', `The connection to ${peer.origin} is closed.`)

/** Empty for an answer, which has no method. */
function parseMethod(text: string): string {
  const message: unknown = JSON.parse(text)
  return isJsonObject(message) && typeof message.method === 'string' ? message.method : ''
}

interface NotificationStreamContext {
  readonly endpoint: HttpEndpoint
  readonly headers: McpHeaders
  onFrame(frame: Frame): void
  onWarning(text: string): void
  /** The stream could be opened: the server is alive. */
  onAlive(): void
  /** Called each time it could not be opened, or broke. */
  onLost(end: ReplyEnd): void
}

const MAX_FAILURES = 5

/** The stream on which a legacy server sends messages that belong to no request. It is reopened whenever it ends. */
class NotificationStream implements ReplyListener {
  readonly #context: NotificationStreamContext
  #exchange: HttpExchange | undefined
  #reply: HttpReply
  #lastEventId: string | undefined
  #retry: number | undefined
  #failures = 0
  #idleEnds = 0
  #isOpen = false
  #wasOpen = false
  #closed = false
  #timer: NodeJS.Timeout | undefined

  constructor(port: NotificationStreamContext) {
    this.#context = port
    this.#reply = new HttpReply(port.endpoint, this)
  }

  open(): void {
    this.#isOpen = false
    this.#reply = new HttpReply(this.#context.endpoint, this)
    this.#exchange = openSideStream(this.#context, this.#reply, this.#lastEventId)
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#exchange?.cancel()
  }

  onAccepted(): void {
    this.#isOpen = this.#reply.isStream
    if (!this.#isOpen) return
    this.#wasOpen = true
    this.#failures = 0
    this.#context.onAlive()
  }

  /** Answers belong on the stream of their request; here they could be anybody's. */
  onFrame(frame: Frame): void {
    this.#idleEnds = 0
    if (frame.envelope.hasMethod) this.#context.onFrame(frame)
    else this.onWarning('an answer on the stream for notifications')
  }

  onWarning(text: string): void {
    this.#context.onWarning(`notification stream: ${text}`)
  }

  onTooLarge(): void {
    this.onWarning(`a message of more than ${this.#context.endpoint.maxMessageBytes} bytes was dropped`)
  }

  onEnd(end: ReplyEnd): void {
    if (this.#closed) return
    this.#lastEventId = this.#reply.lastEventId ?? this.#lastEventId
    this.#retry = this.#reply.retry ?? this.#retry
    // Some servers that do not offer this stream answer 404: their session is still valid.
    if (this.#wasOpen || end.kind !== 'refused') this.#context.onLost(end)
    if (this.#closed || !this.#mayReopen(end)) return
    const attempt = this.#isOpen ? this.#idleEnds++ : this.#failures
    this.#timer = setTimeout(() => this.open(), reconnectDelay(Math.min(attempt, 10), this.#retry))
  }

  /** A server need not offer this stream: 405 says so, and any other refusal harms no call. */
  #mayReopen(end: ReplyEnd): boolean {
    if (this.#isOpen) return true
    if (end.kind === 'done') return false
    if (end.kind === 'refused' && end.status < 500) {
      if (end.status !== 405 && end.status !== 404) this.onWarning(end.error.message)
      return false
    }
    if (++this.#failures < MAX_FAILURES) return true
    this.onWarning(`given up after ${MAX_FAILURES} attempts. ${end.error.message}`)
    return false
  }
}
