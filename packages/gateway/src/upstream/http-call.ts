import { SallyportError } from '@sallyport/core'
import { addressedError } from './addressed-error.ts'
import type { HttpEndpoint } from './http-endpoint.ts'
import { HttpExchange, type ResponseHeaders } from './http-exchange.ts'
import { HttpReply, type ReplyEnd, type ReplyListener } from './http-reply.ts'
import type { McpHeaders } from './mcp-headers.ts'
import { reconnectDelay } from './reconnect-delay.ts'
import type { Frame, OutgoingRequest } from './transport.ts'

/** What the calls of one transport share, and whom they tell. */
export interface CallPort {
  readonly endpoint: HttpEndpoint
  readonly headers: McpHeaders
  onAccepted(call: HttpCall, headers: ResponseHeaders): void
  onFrame(frame: Frame, id: number): void
  onTrouble(text: string): void
  /** Its answer is about to be passed on; its stream may stay open for a while. */
  onAnswered(call: HttpCall): void
  /** Nothing of it is left on the wire. `end` tells why it has no answer, where it has none. */
  onOver(call: HttpCall, end?: UnansweredEnd): void
}

export type UnansweredEnd = Exclude<ReplyEnd, { kind: 'done' }>

const MAX_RESUMES = 5

/** One request, from its POST to exactly one of: its answer, a failure, or being cancelled. */
export class HttpCall implements ReplyListener {
  readonly request: OutgoingRequest
  readonly #port: CallPort
  #exchange: HttpExchange | undefined
  #reply: HttpReply
  #answered = false
  #cancelled = false
  #resumes = 0
  #lastEventId: string | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(port: CallPort, request: OutgoingRequest) {
    this.#port = port
    this.request = request
    this.#reply = new HttpReply(port.endpoint, this)
  }

  start(): void {
    const { endpoint, headers } = this.#port
    const message = { method: 'POST', lane: 'calls', path: endpoint.path, body: this.request.text } as const
    this.#exchange = new HttpExchange(endpoint, { ...message, headers: headers.post(this.request) }, this.#reply)
  }

  /** Ends it without a word to anybody. */
  cancel(): void {
    this.#cancelled = true
    clearTimeout(this.#timer)
    this.#exchange?.cancel()
  }

  onAccepted(headers: ResponseHeaders): void {
    this.#port.onAccepted(this, headers)
  }

  /** A message on this request's own stream: nothing that belongs to another request gets past here. */
  onFrame(frame: Frame): void {
    const { id } = this.request
    if (this.#cancelled) return
    if (this.#answered) {
      if (!frame.envelope.hasMethod) this.onTrouble('a second answer to one request')
      return
    }
    if (frame.envelope.hasMethod) return this.#port.onFrame(frame, id)
    if (frame.envelope.numericId === id) return this.#answer(frame)
    const addressed = Number.isFinite(frame.envelope.numericId) ? undefined : addressedError(frame, id)
    if (addressed === undefined) this.onTrouble('an answer with the id of another request')
    else this.#answer(addressed)
  }

  onTrouble(text: string): void {
    this.#port.onTrouble(`${this.request.method}: ${text}`)
  }

  onTooLarge(): void {
    if (this.#cancelled) return
    this.cancel()
    const { peer, maxMessageBytes } = this.#port.endpoint
    const message = `${peer.origin} answered ${this.request.method} with more than ${maxMessageBytes} bytes.`
    const error = new SallyportError('UPSTREAM_TOO_LARGE', message, {
      hint: 'Ask for less, or raise the limit of the server.',
    })
    this.#over({ kind: 'broken', error })
  }

  onEnd(end: ReplyEnd): void {
    if (this.#cancelled) return
    if (this.#answered) return this.#over(end)
    if (end.kind === 'refused' && this.#resumes === 0) return this.#refused(end)
    if (end.kind !== 'refused' && this.#resumeLater()) return
    this.#over(end.kind === 'done' ? this.#unanswered() : end)
  }

  #answer(frame: Frame): void {
    this.#answered = true
    this.#port.onAnswered(this)
    this.#port.onFrame(frame, this.request.id)
  }

  /** A client error may carry the answer in its body. It came as the response to this very request, whatever id it has. */
  #refused(end: Extract<ReplyEnd, { kind: 'refused' }>): void {
    const { status, frame } = end
    const isAnswer = status >= 400 && status < 500 && status !== 401 && status !== 403 && !this.#port.headers.isForgotten(end)
    const answer = isAnswer && frame !== undefined ? addressedError(frame, this.request.id) : undefined
    if (answer === undefined) return this.#over(end)
    this.#answer(answer)
    this.#over(end)
  }

  #over(end: ReplyEnd): void {
    if (this.#answered || end.kind === 'done') this.#port.onOver(this)
    else this.#port.onOver(this, end)
  }

  #unanswered(): UnansweredEnd {
    const { origin } = this.#port.endpoint.peer
    const error = this.#reply.isStream
      ? new SallyportError('UPSTREAM_DIED', `${origin} ended its stream before the answer.`)
      : new SallyportError('UPSTREAM_PROTOCOL', `${origin} answered ${this.request.method} with no answer to it.`)
    return { kind: 'broken', error }
  }

  /** A legacy server that numbers its events keeps them for a client that comes back (Last-Event-ID). */
  #resumeLater(): boolean {
    const { lastEventId, retry } = this.#reply
    if (!this.#port.headers.isLegacy) return false
    if (lastEventId !== undefined && lastEventId !== this.#lastEventId) this.#resumes = 0
    this.#lastEventId = lastEventId ?? this.#lastEventId
    if (this.#lastEventId === undefined || this.#resumes === MAX_RESUMES) return false
    this.#timer = setTimeout(() => this.#resume(), reconnectDelay(this.#resumes++, retry))
    return true
  }

  #resume(): void {
    const { endpoint, headers } = this.#port
    this.#reply = new HttpReply(endpoint, this)
    const stream = { method: 'GET', lane: 'side', path: endpoint.path, headers: headers.stream(this.#lastEventId) } as const
    this.#exchange = new HttpExchange(endpoint, stream, this.#reply)
  }
}
