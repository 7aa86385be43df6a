/** Somebody who keeps events, so that streams can be resumed. */
export interface Keeper {
  readonly bytes: number
  /** Gives up the least useful until so many bytes are left. */
  shrink(most: number): void
  /** Gives up what nobody will ask for any more. */
  forgetStale(): void
}

/** Kept for one session, and for all of them. */
const MOST_OF_ONE = 8_000_000
const MOST_OF_ALL = 64_000_000
const SWEEP_EVERY = 5_000

/** How much may be kept for clients that come back, all together. */
export class ReplayBudget {
  readonly #keepers = new Set<Keeper>()
  #bytes = 0
  #timer: NodeJS.Timeout | undefined

  get bytes(): number {
    return this.#bytes
  }

  /** Call when somebody keeps so many bytes more, or fewer. */
  changed(keeper: Keeper, difference: number): void {
    this.#bytes += difference
    if (keeper.bytes > 0) this.#keepers.add(keeper)
    else this.#keepers.delete(keeper)
    if (difference > 0) this.#limit(keeper)
    this.#watch()
  }

  sweep(): void {
    for (const keeper of [...this.#keepers]) keeper.forgetStale()
  }

  /** Whoever keeps the most gives way: many small ones are not pushed out by a large one. */
  #limit(keeper: Keeper): void {
    if (keeper.bytes > MOST_OF_ONE) keeper.shrink(MOST_OF_ONE)
    if (this.#bytes <= MOST_OF_ALL) return
    for (const largest of [...this.#keepers].sort((a, b) => b.bytes - a.bytes)) {
      if (this.#bytes <= MOST_OF_ALL) return
      largest.shrink(largest.bytes / 2)
    }
  }

  /** While nothing is kept there is no timer. */
  #watch(): void {
    if (this.#keepers.size > 0) {
      this.#timer ??= setInterval(() => this.sweep(), SWEEP_EVERY).unref()
      return
    }
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
