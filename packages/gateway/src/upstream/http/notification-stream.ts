import type { Frame } from '../transport.ts'
import type { HttpEndpoint } from './http-endpoint.ts'
import type { HttpExchange } from './http-exchange.ts'
import { HttpReply, type ReplyEnd, type ReplyListener } from './http-reply.ts'
import type { McpHeaders } from './mcp-headers.ts'
import { reconnectDelay } from './reconnect-delay.ts'
import { openSideStream } from './side-stream.ts'

export interface NotificationStreamContext {
  readonly endpoint: HttpEndpoint
  readonly headers: McpHeaders
  onFrame(frame: Frame): void
  onWarning(text: string): void
  /** The stream could be opened: the server lives. */
  onAlive(): void
  /** Each time that it could not be opened, or broke. */
  onLost(end: ReplyEnd): void
}

const MAX_FAILURES = 5

/** The stream on which a legacy server tells what concerns no request. It is opened again whenever it ends. */
export class NotificationStream implements ReplyListener {
  readonly #context: NotificationStreamContext
  #exchange: HttpExchange | undefined
  #reply: HttpReply
  #lastEventId: string | undefined
  #retry: number | undefined
  #failures = 0
  #idleEnds = 0
  #isOpen = false
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
    this.#failures = 0
    this.#context.onAlive()
  }

  /** Answers belong onto the stream of their request; here they could be anybody's. */
  onFrame(frame: Frame): void {
    this.#idleEnds = 0
    if (frame.envelope.hasMethod) this.#context.onFrame(frame)
    else this.onWarning('an answer, where only notifications may be')
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
    this.#context.onLost(end)
    if (this.#closed || !this.#mayReopen(end)) return
    const attempt = this.#isOpen ? this.#idleEnds++ : this.#failures
    this.#timer = setTimeout(() => this.open(), reconnectDelay(Math.min(attempt, 10), this.#retry))
  }

  /** A server need not offer this stream: 405 says so, and any other refusal of it harms no call. */
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
