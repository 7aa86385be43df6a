/** Somebody who keeps events, so that streams can be resumed. */
export interface ReplayBuffer {
  readonly bytes: number
  /** Gives up the least useful until so many bytes are left. */
  shrink(most: number): void
  /** Gives up what nobody will ask for any more. */
  forgetStale(): void
}

/** Kept for one session, and for all of them. */
const MAX_SESSION_BYTES = 8_000_000
const MAX_TOTAL_BYTES = 64_000_000
const SWEEP_INTERVAL_MS = 5_000

/** How much may be kept for clients that come back, all together. */
export class ReplayBudget {
  readonly #buffers = new Set<ReplayBuffer>()
  #bytes = 0
  #timer: NodeJS.Timeout | undefined

  get bytes(): number {
    return this.#bytes
  }

  /** Call when somebody keeps so many bytes more, or fewer. */
  changed(keeper: ReplayBuffer, difference: number): void {
    this.#bytes += difference
    if (keeper.bytes > 0) this.#buffers.add(keeper)
    else this.#buffers.delete(keeper)
    if (difference > 0) this.#limit(keeper)
    this.#watch()
  }

  sweep(): void {
    for (const keeper of [...this.#buffers]) keeper.forgetStale()
  }

  /** Whoever keeps the most gives way: many small ones are not pushed out by a large one. */
  #limit(keeper: ReplayBuffer): void {
    if (keeper.bytes > MAX_SESSION_BYTES) keeper.shrink(MAX_SESSION_BYTES)
    if (this.#bytes <= MAX_TOTAL_BYTES) return
    for (const largest of [...this.#buffers].sort((a, b) => b.bytes - a.bytes)) {
      if (this.#bytes <= MAX_TOTAL_BYTES) return
      largest.shrink(largest.bytes / 2)
    }
  }

  /** While nothing is kept there is no timer. */
  #watch(): void {
    if (this.#buffers.size > 0) {
      this.#timer ??= setInterval(() => this.sweep(), SWEEP_INTERVAL_MS).unref()
      return
    }
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
