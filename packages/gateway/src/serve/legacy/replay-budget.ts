/** Buffers events, so that streams can be resumed. */
export interface ReplayBuffer {
  readonly bytes: number
  /** Removes the least useful events until at most `maxBytes` are left. */
  shrink(maxBytes: number): void
  /** Removes what no client will request any more. */
  forgetStale(): void
}

/** Limits for one session and for all sessions together. */
const MAX_SESSION_BYTES = 8_000_000
const MAX_TOTAL_BYTES = 64_000_000
const SWEEP_INTERVAL_MS = 5_000

/** Limits the memory that all replay buffers use together. */
export class ReplayBudget {
  readonly #buffers = new Set<ReplayBuffer>()
  #bytes = 0
  #timer: NodeJS.Timeout | undefined

  get bytes(): number {
    return this.#bytes
  }

  /** Call this after the size of a buffer has changed by `difference` bytes. */
  changed(buffer: ReplayBuffer, difference: number): void {
    this.#bytes += difference
    if (buffer.bytes > 0) this.#buffers.add(buffer)
    else this.#buffers.delete(buffer)
    if (difference > 0) this.#limit(buffer)
    this.#watch()
  }

  sweep(): void {
    for (const buffer of [...this.#buffers]) buffer.forgetStale()
  }

  /** Shrinks the largest buffers first: a large one must not displace many small ones. */
  #limit(buffer: ReplayBuffer): void {
    if (buffer.bytes > MAX_SESSION_BYTES) buffer.shrink(MAX_SESSION_BYTES)
    if (this.#bytes <= MAX_TOTAL_BYTES) return
    for (const largest of [...this.#buffers].sort((a, b) => b.bytes - a.bytes)) {
      if (this.#bytes <= MAX_TOTAL_BYTES) return
      largest.shrink(largest.bytes / 2)
    }
  }

  /** Runs the timer only while there is a buffer. */
  #watch(): void {
    if (this.#buffers.size > 0) {
      this.#timer ??= setInterval(() => this.sweep(), SWEEP_INTERVAL_MS).unref()
      return
    }
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
