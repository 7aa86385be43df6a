/** One more than the window is divided into: the oldest is only partly within it. */
const BUCKETS = 61

/**
 * Counts what happened within a span of time that ends now, in bounded memory.
 * What is younger than the span is always counted; what is older by more than a sixtieth of it never is.
 */
export class SlidingWindow {
  readonly #bucketLength: number
  readonly #counts = new Float64Array(BUCKETS)
  #newest = Number.NEGATIVE_INFINITY
  #total = 0

  /** In milliseconds, as the times that it is given are. */
  constructor(length: number) {
    this.#bucketLength = length / (BUCKETS - 1)
  }

  /** The total with the new one. */
  add(at: number): number {
    this.#advance(at)
    this.#put(this.#newest, this.#count(this.#newest) + 1)
    this.#total++
    return this.#total
  }

  total(at: number): number {
    this.#advance(at)
    return this.#total
  }

  clear(): void {
    this.#counts.fill(0)
    this.#total = 0
  }

  /** Empties the buckets that the time has passed. */
  #advance(at: number): void {
    const bucket = Math.floor(at / this.#bucketLength)
    if (bucket <= this.#newest) return
    if (bucket - this.#newest >= BUCKETS) this.clear()
    else
      for (let passed = this.#newest + 1; passed <= bucket; passed++) {
        this.#total -= this.#count(passed)
        this.#put(passed, 0)
      }
    this.#newest = bucket
  }

  #count(bucket: number): number {
    return this.#counts[bucket % BUCKETS] ?? 0
  }

  #put(bucket: number, count: number): void {
    this.#counts[bucket % BUCKETS] = count
  }
}
