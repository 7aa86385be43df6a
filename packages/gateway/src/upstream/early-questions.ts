import type { JsonObject } from '@sallyport/core'

/**
 * So long a server waits at most for the call that its connection was made for. One that lists nothing before it has
 * its answer would wait for ever otherwise, since the call waits for the lists.
 */
const PATIENCE = 5_000
/** A server asks for roots before anything else; nobody asks for much. */
const MOST = 8

/** What a server asked before the first call of the client whose connection it is, where only calls reach that client. */
export class EarlyQuestions {
  readonly #unanswerable: (message: JsonObject) => void
  #kept: JsonObject[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(unanswerable: (message: JsonObject) => void) {
    this.#unanswerable = unanswerable
  }

  get size(): number {
    return this.#kept.length
  }

  keep(message: JsonObject): void {
    if (this.#kept.length >= MOST) return this.#unanswerable(message)
    this.#kept.push(message)
    this.#timer ??= setTimeout(() => this.#giveUp(), PATIENCE)
  }

  /** They are no longer kept here. */
  take(): readonly JsonObject[] {
    const kept = this.#kept
    this.stop()
    return kept
  }

  /** The server took it back. False where it did not ask that. */
  cancel(id: unknown): boolean {
    const before = this.#kept.length
    if (before > 0) this.#kept = this.#kept.filter((message) => message.id !== id)
    return this.#kept.length < before
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#kept = []
  }

  #giveUp(): void {
    for (const message of this.take()) this.#unanswerable(message)
  }
}
