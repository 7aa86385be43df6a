/** Changes of a list come in storms; between two looks at it lies at least this. */
const MIN_INTERVAL_MS = 200
/** A few changes in a row are nothing unusual, and each of them is worth a look at once. */
const MAX_PROMPT_REFRESHES = 5
/** A server that never rests is looked at this seldom: each look costs everybody. */
const MAX_INTERVAL_MS = 30_000
/** After so long without a change a server has rested. */
const QUIET_MS = 10_000

/** Looks again after a change was announced: once for many announcements, never twice at the same time, ever more seldom. */
export class CatalogRefresh {
  readonly #refresh: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  /** Since the server last rested. */
  #refreshCount = 0
  #refreshedAt = Number.NEGATIVE_INFINITY
  #isRefreshing = false
  #stopped = false

  constructor(look: () => Promise<void>) {
    this.#refresh = look
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
