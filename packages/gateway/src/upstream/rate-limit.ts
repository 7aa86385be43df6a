export interface RateLimitOptions {
  /** So many at once. */
  readonly burst: number
  /** So many a second in the long run. */
  readonly perSecond: number
}

/** Whether one more may pass: a full bucket at first, refilled as time goes by. */
export class RateLimit {
  readonly #options: RateLimitOptions
  #left: number
  #filledAt = performance.now()

  constructor(options: RateLimitOptions) {
    this.#options = options
    this.#left = options.burst
  }

  take(): boolean {
    const { burst, perSecond } = this.#options
    const now = performance.now()
    this.#left = Math.min(burst, this.#left + ((now - this.#filledAt) / 1_000) * perSecond)
    this.#filledAt = now
    if (this.#left < 1) return false
    this.#left--
    return true
  }
}
