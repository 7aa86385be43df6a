import type { Frame } from '../transport.ts'
import type { HttpEndpoint } from './http-endpoint.ts'
import type { HttpExchange } from './http-exchange.ts'
import { HttpReply, type ReplyEnd, type ReplyListener } from './http-reply.ts'
import type { McpHeaders } from './mcp-headers.ts'
import { reconnectDelay } from './reconnect-delay.ts'
import { openSideStream } from './side-stream.ts'

export interface NotificationPort {
  readonly endpoint: HttpEndpoint
  readonly headers: McpHeaders
  onFrame(frame: Frame): void
  onTrouble(text: string): void
  /** The stream could be opened: the server lives. */
  onAlive(): void
  /** Each time that it could not be opened, or broke. */
  onLost(end: ReplyEnd): void
}

const MAX_FAILURES = 5

/** The stream on which a legacy server tells what concerns no request. It is opened again whenever it ends. */
export class NotificationStream implements ReplyListener {
  readonly #port: NotificationPort
  #exchange: HttpExchange | undefined
  #reply: HttpReply
  #lastEventId: string | undefined
  #retry: number | undefined
  #failures = 0
  #idleEnds = 0
  #isOpen = false
  #closed = false
  #timer: NodeJS.Timeout | undefined

  constructor(port: NotificationPort) {
    this.#port = port
    this.#reply = new HttpReply(port.endpoint, this)
  }

  open(): void {
    this.#isOpen = false
    this.#reply = new HttpReply(this.#port.endpoint, this)
    this.#exchange = openSideStream(this.#port, this.#reply, this.#lastEventId)
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
    this.#port.onAlive()
  }

  /** Answers belong onto the stream of their request; here they could be anybody's. */
  onFrame(frame: Frame): void {
    this.#idleEnds = 0
    if (frame.envelope.hasMethod) this.#port.onFrame(frame)
    else this.onTrouble('an answer, where only notifications may be')
  }

  onTrouble(text: string): void {
    this.#port.onTrouble(`notification stream: ${text}`)
  }

  onTooLarge(): void {
    this.onTrouble(`a message of more than ${this.#port.endpoint.maxMessageBytes} bytes was dropped`)
  }

  onEnd(end: ReplyEnd): void {
    if (this.#closed) return
    this.#lastEventId = this.#reply.lastEventId ?? this.#lastEventId
    this.#retry = this.#reply.retry ?? this.#retry
    this.#port.onLost(end)
    if (this.#closed || !this.#mayReturn(end)) return
    const attempt = this.#isOpen ? this.#idleEnds++ : this.#failures
    this.#timer = setTimeout(() => this.open(), reconnectDelay(Math.min(attempt, 10), this.#retry))
  }

  /** A server need not offer this stream: 405 says so, and any other refusal of it harms no call. */
  #mayReturn(end: ReplyEnd): boolean {
    if (this.#isOpen) return true
    if (end.kind === 'done') return false
    if (end.kind === 'refused' && end.status < 500) {
      if (end.status !== 405 && end.status !== 404) this.onTrouble(end.error.message)
      return false
    }
    if (++this.#failures < MAX_FAILURES) return true
    this.onTrouble(`given up after ${MAX_FAILURES} attempts. ${end.error.message}`)
    return false
  }
}
