import { formatDuration, SallyportError } from '@sallyport/core'
import type { Permit } from '../permit.ts'
import type { HttpEndpoint, Lane } from './http-endpoint.ts'
import { HttpExchange } from './http-exchange.ts'
import { HttpReply, type ReplyEnd, type ReplyListener } from './http-reply.ts'

export interface OneWayPostOptions {
  readonly lane: Lane
  readonly path: string
  readonly headers: readonly string[]
  readonly text: string
  readonly currentText?: (() => string) | undefined
  /** How long the server may take to accept it, in milliseconds; if missing, there is no limit. */
  readonly timeoutMs?: number
  readonly permit?: Permit | undefined
  readonly onWarning: (text: string) => void
  readonly onFinished: (end: ReplyEnd) => void
}

/** A message without an answer: only the status of the response matters. */
export class OneWayPost implements ReplyListener {
  readonly #endpoint: HttpEndpoint
  readonly #options: OneWayPostOptions
  readonly #reply: HttpReply
  #exchange: HttpExchange | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(endpoint: HttpEndpoint, options: OneWayPostOptions) {
    this.#endpoint = endpoint
    this.#options = options
    this.#reply = new HttpReply(endpoint, this)
  }

  start(): void {
    const { lane, path, headers, text: body, currentText: currentBody, timeoutMs, permit } = this.#options
    if (timeoutMs !== undefined) this.#timer = setTimeout(() => this.#giveUp(timeoutMs), timeoutMs)
    this.#exchange = new HttpExchange(
      this.#endpoint,
      { method: 'POST', lane, path, headers, body, currentBody, permit },
      this.#reply,
    )
  }

  cancel(): void {
    clearTimeout(this.#timer)
    this.#exchange?.cancel()
  }

  /** A stream here could stay open forever and hold its connection. */
  onAccepted(): void {
    if (this.#reply.isStream) this.#finish({ kind: 'done' })
  }

  onFrame(): void {
    this.#options.onWarning('an answer to a message that expects none')
  }

  /** Some servers answer "Accepted", which is not JSON but harmless. */
  onWarning(): void {}

  onTooLarge(): void {
    this.#finish({ kind: 'done' })
  }

  onEnd(end: ReplyEnd): void {
    clearTimeout(this.#timer)
    this.#options.onFinished(end)
  }

  #giveUp(timeoutMs: number): void {
    const message = `${this.#endpoint.peer.origin} did not accept a message within ${formatDuration(timeoutMs)}.`
    this.#finish({ kind: 'broken', error: new SallyportError('UPSTREAM_TIMEOUT', message) })
  }

  #finish(end: ReplyEnd): void {
    this.cancel()
    this.#options.onFinished(end)
  }
}
