import { MAY_HAVE_RUN_HINT, SallyportError } from '@sallyport/core'
import { FrameReader } from '../answers/frame-reader.ts'
import type { EncodedRequest, Frame } from '../transport.ts'
import type { HttpEndpoint } from './http-endpoint.ts'
import { HttpExchange } from './http-exchange.ts'
import { HttpReply, type ReplyEnd, type ReplyListener } from './http-reply.ts'
import type { Indexed } from './in-flight-calls.ts'
import type { McpHeaders } from './mcp-headers.ts'
import { reconnectDelay } from './reconnect-delay.ts'
import type { ResponseHeaders } from './response-head.ts'

/** What the calls of one transport share, and their listener. */
export interface HttpCallContext {
  readonly endpoint: HttpEndpoint
  readonly headers: McpHeaders
  onAccepted(call: HttpCall, headers: ResponseHeaders): void
  onFrame(frame: Frame, id: number): void
  onWarning(text: string): void
  /** Its answer is about to be passed on; its stream may stay open for a while. */
  onAnswered(): void
  /** The server forgot the session after it had accepted this call. */
  onSessionLost(): void
  /** It no longer uses the wire. `end` says why it has no answer, if it has none. */
  onFinished(call: HttpCall, end?: UnansweredEnd): void
}

export type UnansweredEnd = Exclude<ReplyEnd, { kind: 'done' }>

const MAX_RESUMES = 5

/** One request, from its POST to exactly one of: its answer, a failure, or a cancellation. */
export class HttpCall implements ReplyListener, Indexed {
  readonly request: EncodedRequest
  index = -1
  readonly #context: HttpCallContext
  #exchange: HttpExchange | undefined
  #reply: HttpReply
  #answered = false
  #cancelled = false
  #wasAnsweredBefore = false
  #resumes = 0
  #lastEventId: string | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(port: HttpCallContext, request: EncodedRequest) {
    this.#context = port
    this.request = request
    this.#reply = new HttpReply(port.endpoint, this)
  }

  get id(): number {
    return this.request.id
  }

  get isAnswered(): boolean {
    return this.#answered
  }

  start(): void {
    const { endpoint } = this.#context
    const { text: body, currentText: currentBody, call } = this.request
    const headers = this.#context.headers.forPost(call)
    const { permit } = call
    const message = { method: 'POST', lane: 'calls', path: endpoint.path, headers, body, currentBody, permit } as const
    this.#exchange = new HttpExchange(endpoint, message, this.#reply)
  }

  /** Called periodically: true if its stream stayed open for one whole period after its answer. */
  checkLingering(): boolean {
    const before = this.#wasAnsweredBefore
    this.#wasAnsweredBefore = this.#answered
    return before
  }

  /** Ends it without notifying anybody. */
  cancel(): void {
    this.#cancelled = true
    clearTimeout(this.#timer)
    this.#exchange?.cancel()
  }

  onAccepted(headers: ResponseHeaders): void {
    this.#context.onAccepted(this, headers)
  }

  /** A message on this request's own stream: messages of other requests are stopped here. */
  onFrame(frame: Frame): void {
    const { id } = this.request
    if (this.#cancelled) return
    if (this.#answered) {
      if (!frame.envelope.hasMethod) this.onWarning('a second answer to one request')
      return
    }
    if (frame.envelope.hasMethod) {
      this.#context.onFrame(frame, id)
      return
    }
    const answer = Number.isFinite(frame.envelope.numericId ?? Number.NaN) ? frame : errorReply(frame, id)
    if (answer?.envelope.numericId === id) this.#answer(answer)
    else this.onWarning('an answer with the id of another request')
  }

  onWarning(text: string): void {
    this.#context.onWarning(`${this.request.call.method}: ${text}`)
  }

  onTooLarge(): void {
    if (this.#cancelled) return
    this.cancel()
    const { peer, maxMessageBytes } = this.#context.endpoint
    const message = `${peer.origin} answered ${this.request.call.method} with more than ${maxMessageBytes} bytes.`
    const error = new SallyportError('UPSTREAM_TOO_LARGE', message, {
      hint: 'Ask for less, or raise the limit of the server.',
    })
    this.#finish({ kind: 'broken', error })
  }

  onEnd(end: ReplyEnd): void {
    if (this.#cancelled) return
    if (this.#answered) this.#finish(end)
    else if (end.kind === 'refused') this.#onRefused(end)
    else if (!this.#resumeLater())
      this.#finish(end.kind === 'done' ? { kind: 'broken', error: this.#unansweredError() } : end)
  }

  #answer(frame: Frame): void {
    this.#answered = true
    this.#context.onAnswered()
    this.#context.onFrame(frame, this.request.id)
  }

  /** A client error may carry the answer in its body. It is the response to this very request, whatever its id is. */
  #onRefused(end: Extract<ReplyEnd, { kind: 'refused' }>): void {
    if (this.#resumes > 0) {
      this.#onResumeRefused(end)
      return
    }
    const { status, frame } = end
    const mayAnswer = status >= 400 && status < 500 && status !== 401 && status !== 403
    if (mayAnswer && frame !== undefined && (this.#isRepeatedAnswer(end) || !this.#isSessionLost(end))) {
      const answer = errorReply(frame, this.request.id)
      if (answer !== undefined) this.#answer(answer)
    }
    this.#finish(end)
  }

  #isSessionLost(end: ReplyEnd): boolean {
    return isSessionLost(end, this.#context.headers.session)
  }

  /** A tool may have sessions of its own: what the server says in a new session as well is its answer. */
  #isRepeatedAnswer({ status, frame }: Extract<ReplyEnd, { kind: 'refused' }>): boolean {
    const { id, call } = this.request
    return status === 400 && frame?.envelope.numericId === id && call.isResent === true
  }

  /**
   * Only the attempt to resume the stream was refused. The server had accepted the request, so that it must not be sent
   * again, even if the session is lost by now.
   */
  #onResumeRefused(end: Extract<ReplyEnd, { kind: 'refused' }>): void {
    if (end.status >= 500 && this.#resumeLater()) return
    if (this.#isSessionLost(end)) this.#context.onSessionLost()
    const { origin } = this.#context.endpoint.peer
    const message = `${origin} lost its stream before the answer, and does not resume it (HTTP ${end.status}).`
    this.#finish({ kind: 'broken', error: new SallyportError('UPSTREAM_DIED', message, { hint: MAY_HAVE_RUN_HINT }) })
  }

  #finish(end: ReplyEnd): void {
    if (this.#answered || end.kind === 'done') this.#context.onFinished(this)
    else this.#context.onFinished(this, end)
  }

  #unansweredError(): SallyportError {
    const { origin } = this.#context.endpoint.peer
    return this.#reply.isStream
      ? new SallyportError('UPSTREAM_DIED', `${origin} ended its stream before the answer.`, {
          hint: MAY_HAVE_RUN_HINT,
        })
      : new SallyportError(
          'UPSTREAM_PROTOCOL',
          `${origin} sent no answer to ${this.request.call.method} in its response.`,
        )
  }

  /** A legacy server that numbers its events stores them for a client that comes back (Last-Event-ID). */
  #resumeLater(): boolean {
    const { lastEventId, retry } = this.#reply
    if (!this.#context.headers.isLegacy) return false
    if (lastEventId !== undefined && lastEventId !== this.#lastEventId) this.#resumes = 0
    this.#lastEventId = lastEventId ?? this.#lastEventId
    if (this.#lastEventId === undefined || this.#resumes === MAX_RESUMES) return false
    this.#timer = setTimeout(() => this.#resume(), reconnectDelay(this.#resumes++, retry))
    return true
  }

  #resume(): void {
    this.#reply = new HttpReply(this.#context.endpoint, this)
    this.#exchange = openSideStream(this.#context, this.#reply, this.#lastEventId)
  }
}

/**
 * The same error with the id of this request; `undefined` if the frame is not an error. A server that could not read a
 * request does not know its id.
 */
function errorReply(frame: Frame, id: number): Frame | undefined {
  const { error, hasMethod, result } = frame.envelope
  if (error === undefined || result !== undefined || hasMethod) return undefined
  if (frame.envelope.numericId === id) return frame
  const reader = new FrameReader(Number.POSITIVE_INFINITY)
  reader.feed(Buffer.from(`{"jsonrpc":"2.0","id":${id},"error":`))
  reader.feed(Buffer.concat(frame.parts).subarray(error.start, error.end))
  reader.feed(Buffer.from('}'))
  const outcome = reader.finish()
  return outcome.kind === 'frame' ? outcome.frame : undefined
}

/**
 * Whether a response says that the server no longer knows our session. The protocol uses 404; servers built after a
 * widespread example use 400 and mention the session, in an error or, as the Python SDK did, in plain text. After a
 * restart, the transport of the TypeScript SDKs says with 400 that nobody initialized it.
 */
export function isSessionLost(end: ReplyEnd, session: string | undefined): boolean {
  if (session === undefined || end.kind !== 'refused') return false
  if (end.status === 404) return true
  return end.status === 400 && end.frame?.envelope.result === undefined && /session|not initialized/i.test(end.sample)
}

interface SideStreamContext {
  readonly endpoint: HttpEndpoint
  readonly headers: McpHeaders
}

/** Opens a stream of a legacy server by GET; with an event id it continues after that event (Last-Event-ID). */
export function openSideStream(
  { endpoint, headers }: SideStreamContext,
  reply: HttpReply,
  lastEventId: string | undefined,
): HttpExchange {
  const message = { method: 'GET', lane: 'side', path: endpoint.path, headers: headers.forStream(lastEventId) } as const
  return new HttpExchange(endpoint, message, reply)
}
