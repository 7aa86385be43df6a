import type { ServerRequest } from './questions.ts'

/**
 * How long the question of a server waits for the call that its connection was opened for. Without this limit, a server
 * that lists nothing before it has its answer would wait forever, since the call waits for the lists.
 */
const FIRST_CALL_TIMEOUT_MS = 5_000
/** A server may ask for roots before anything else, but not for much more. */
const MAX_QUESTIONS = 8

/**
 * Questions that a server asked before the first call of its client, if that client can be reached only during calls.
 */
export class EarlyQuestions {
  readonly #onUnanswered: (request: ServerRequest) => void
  #pending: ServerRequest[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(onUnanswered: (request: ServerRequest) => void) {
    this.#onUnanswered = onUnanswered
  }

  get size(): number {
    return this.#pending.length
  }

  add(request: ServerRequest): void {
    if (this.#pending.length >= MAX_QUESTIONS) return this.#onUnanswered(request)
    this.#pending.push(request)
    this.#timer ??= setTimeout(() => this.#giveUp(), FIRST_CALL_TIMEOUT_MS)
  }

  /** Returns and removes all of them. */
  takeAll(): readonly ServerRequest[] {
    const questions = this.#pending
    this.stop()
    return questions
  }

  /** The server withdrew a question. Returns false if it did not ask it. */
  cancel(id: unknown): boolean {
    const before = this.#pending.length
    if (before > 0) this.#pending = this.#pending.filter(({ message }) => message.id !== id)
    return this.#pending.length < before
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#pending = []
  }

  #giveUp(): void {
    for (const request of this.takeAll()) this.#onUnanswered(request)
  }
}
