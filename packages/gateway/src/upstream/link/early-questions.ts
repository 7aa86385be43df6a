import type { JsonObject } from '@sallyport/core'

/**
 * So long a server waits at most for the call that its connection was made for. One that lists nothing before it has
 * its answer would wait for ever otherwise, since the call waits for the lists.
 */
const FIRST_CALL_TIMEOUT_MS = 5_000
/** A server asks for roots before anything else; nobody asks for much. */
const MAX_QUESTIONS = 8

/** What a server asked before the first call of the client whose connection it is, where only calls reach that client. */
export class EarlyQuestions {
  readonly #onUnanswered: (message: JsonObject) => void
  #pending: JsonObject[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(unanswerable: (message: JsonObject) => void) {
    this.#onUnanswered = unanswerable
  }

  get size(): number {
    return this.#pending.length
  }

  add(message: JsonObject): void {
    if (this.#pending.length >= MAX_QUESTIONS) return this.#onUnanswered(message)
    this.#pending.push(message)
    this.#timer ??= setTimeout(() => this.#giveUp(), FIRST_CALL_TIMEOUT_MS)
  }

  /** They are no longer kept here. */
  takeAll(): readonly JsonObject[] {
    const kept = this.#pending
    this.stop()
    return kept
  }

  /** The server took it back. False where it did not ask that. */
  cancel(id: unknown): boolean {
    const before = this.#pending.length
    if (before > 0) this.#pending = this.#pending.filter((message) => message.id !== id)
    return this.#pending.length < before
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#pending = []
  }

  #giveUp(): void {
    for (const message of this.takeAll()) this.#onUnanswered(message)
  }
}
