import { formatDuration, SallyportError } from '@sallyport/core'
import type { Permit } from '../permit.ts'
import type { HttpEndpoint, Lane } from './http-endpoint.ts'
import { HttpExchange } from './http-exchange.ts'
import { HttpReply, type ReplyEnd, type ReplyListener } from './http-reply.ts'

export interface NoticeOptions {
  readonly lane: Lane
  readonly path: string
  readonly headers: readonly string[]
  readonly text: string
  /** How long the server may take to take it, in milliseconds; without it, for ever. */
  readonly patience?: number
  readonly permit?: Permit | undefined
  readonly onTrouble: (text: string) => void
  readonly onOver: (end: ReplyEnd) => void
}

/** A message that is only to be taken: nothing is expected in the response but its status. */
export class HttpNotice implements ReplyListener {
  readonly #endpoint: HttpEndpoint
  readonly #options: NoticeOptions
  readonly #reply: HttpReply
  #exchange: HttpExchange | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(endpoint: HttpEndpoint, options: NoticeOptions) {
    this.#endpoint = endpoint
    this.#options = options
    this.#reply = new HttpReply(endpoint, this)
  }

  start(): void {
    const { lane, path, headers, text: body, patience, permit } = this.#options
    if (patience !== undefined) this.#timer = setTimeout(() => this.#giveUp(patience), patience)
    this.#exchange = new HttpExchange(
      this.#endpoint,
      { method: 'POST', lane, path, headers, body, permit },
      this.#reply,
    )
  }

  cancel(): void {
    clearTimeout(this.#timer)
    this.#exchange?.cancel()
  }

  /** A stream here could stay open for ever and keep its connection. */
  onAccepted(): void {
    if (this.#reply.isStream) this.#leave({ kind: 'done' })
  }

  onFrame(): void {
    this.#options.onTrouble('an answer to a message that wants none')
  }

  /** Some servers say "Accepted", which is no JSON and harms nobody. */
  onTrouble(): void {}

  onTooLarge(): void {
    this.#leave({ kind: 'done' })
  }

  onEnd(end: ReplyEnd): void {
    clearTimeout(this.#timer)
    this.#options.onOver(end)
  }

  #giveUp(patience: number): void {
    const message = `${this.#endpoint.peer.origin} did not take a message within ${formatDuration(patience)}.`
    this.#leave({ kind: 'broken', error: new SallyportError('UPSTREAM_TIMEOUT', message) })
  }

  #leave(end: ReplyEnd): void {
    this.cancel()
    this.#options.onOver(end)
  }
}
