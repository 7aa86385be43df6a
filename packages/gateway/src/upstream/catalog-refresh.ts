/** Servers announce many changes of a list in a row; between two refreshes there is at least this time. */
const MIN_INTERVAL_MS = 200
/** A few changes in a row are normal, and each of them is worth a prompt refresh. */
const MAX_PROMPT_REFRESHES = 5
/** A server that changes all the time is refreshed no more often than this: each refresh costs all clients. */
const MAX_INTERVAL_MS = 30_000
/** After this long without a change, the count begins again. */
const QUIET_MS = 10_000

/**
 * Reads the lists again after a change was announced: once for many announcements, never twice at the same time, and
 * less and less often.
 */
export class CatalogRefresh {
  readonly #refresh: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  /** Since the last quiet period. */
  #refreshCount = 0
  #refreshedAt = Number.NEGATIVE_INFINITY
  #isRefreshing = false
  #stopped = false

  constructor(refresh: () => Promise<void>) {
    this.#refresh = refresh
  }

  schedule(): void {
    if (this.#stopped) return
    if (this.#timer === undefined && performance.now() - this.#refreshedAt > Math.max(QUIET_MS, 2 * this.#interval()))
      this.#refreshCount = 0
    this.#timer ??= setTimeout(() => void this.#run(), this.#interval())
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  #interval(): number {
    return Math.min(MIN_INTERVAL_MS * 2 ** Math.max(0, this.#refreshCount - MAX_PROMPT_REFRESHES), MAX_INTERVAL_MS)
  }

  async #run(): Promise<void> {
    this.#timer = undefined
    if (this.#isRefreshing) return this.schedule()
    this.#isRefreshing = true
    this.#refreshedAt = performance.now()
    this.#refreshCount++
    try {
      await this.#refresh()
    } finally {
      this.#isRefreshing = false
    }
  }
}
