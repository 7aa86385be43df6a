/** One more than the window needs, because the oldest bucket is only partly inside it. */
const BUCKETS = 61

/**
 * Counts events within a period that ends now, in bounded memory.
 * Events inside the period are always counted. Events that are older by more than a sixtieth of it never are.
 */
export class SlidingWindow {
  readonly #bucketLength: number
  readonly #counts = new Float64Array(BUCKETS)
  #newest = Number.NEGATIVE_INFINITY
  #total = 0

  /** `length` is in milliseconds, and so are all times. */
  constructor(length: number) {
    this.#bucketLength = length / (BUCKETS - 1)
  }

  /** Adds one event and returns the new total. */
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

  /** Clears the buckets that are no longer inside the period. */
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
