/** Ends overdue requests and returns when the next one will be overdue: infinity if nothing waits. */
type ExpireOverdue = (now: number) => number

/** One timer for all calls of a connection: one for each call would cost as much as the policy decision. */
export class Deadlines {
  readonly #expireOverdue: ExpireOverdue
  #timer: NodeJS.Timeout | undefined
  #wakesAt = Number.POSITIVE_INFINITY

  constructor(expireOverdue: ExpireOverdue) {
    this.#expireOverdue = expireOverdue
  }

  /** Something will be overdue then, unless it ends before or gets more time. */
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
