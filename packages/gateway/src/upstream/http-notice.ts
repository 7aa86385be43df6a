import type { HttpEndpoint } from './http-endpoint.ts'
import { HttpExchange } from './http-exchange.ts'
import { HttpReply, type ReplyEnd, type ReplyListener } from './http-reply.ts'

export interface NoticeOptions {
  readonly path: string
  readonly headers: readonly string[]
  readonly text: string
  readonly onTrouble: (text: string) => void
  readonly onOver: (end: ReplyEnd) => void
}

/** A message that is only to be taken: nothing is expected in the response but its status. */
export class HttpNotice implements ReplyListener {
  readonly #endpoint: HttpEndpoint
  readonly #options: NoticeOptions
  readonly #reply: HttpReply
  #exchange: HttpExchange | undefined

  constructor(endpoint: HttpEndpoint, options: NoticeOptions) {
    this.#endpoint = endpoint
    this.#options = options
    this.#reply = new HttpReply(endpoint, this)
  }

  start(): void {
    const { path, headers, text: body } = this.#options
    this.#exchange = new HttpExchange(
      this.#endpoint,
      { method: 'POST', lane: 'side', path, headers, body },
      this.#reply,
    )
  }

  cancel(): void {
    this.#exchange?.cancel()
  }

  /** A stream here could stay open for ever and keep its connection. */
  onAccepted(): void {
    if (!this.#reply.isStream) return
    this.cancel()
    this.#options.onOver({ kind: 'done' })
  }

  onFrame(): void {
    this.#options.onTrouble('an answer to a message that wants none')
  }

  /** Some servers say "Accepted", which is no JSON and harms nobody. */
  onTrouble(): void {}

  onTooLarge(): void {
    this.cancel()
    this.#options.onOver({ kind: 'done' })
  }

  onEnd(end: ReplyEnd): void {
    this.#options.onOver(end)
  }
}
