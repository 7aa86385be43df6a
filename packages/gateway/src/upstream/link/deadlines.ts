/** Ends what is late, and says when the next will be: never, where nothing waits. */
type ExpireOverdue = (now: number) => number

/** One timer for all calls of a connection: one for each would cost a call as much as deciding about it does. */
export class Deadlines {
  readonly #expireOverdue: ExpireOverdue
  #timer: NodeJS.Timeout | undefined
  #wakesAt = Number.POSITIVE_INFINITY

  constructor(look: ExpireOverdue) {
    this.#expireOverdue = look
  }

  /** Something will be late then. It may be over by that time, or have got more. */
  schedule(lateAt: number): void {
    if (lateAt >= this.#wakesAt) return
    clearTimeout(this.#timer)
    this.#wakesAt = lateAt
    this.#timer = setTimeout(() => this.#wake(), lateAt - performance.now()).unref()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#wakesAt = Number.POSITIVE_INFINITY
  }

  #wake(): void {
    this.#wakesAt = Number.POSITIVE_INFINITY
    this.schedule(this.#expireOverdue(performance.now()))
  }
}
