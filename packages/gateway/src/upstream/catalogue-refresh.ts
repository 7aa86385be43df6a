/** Changes of a list come in storms; between two looks at it lies at least this. */
const FIRST_PAUSE = 200
/** A few changes in a row are nothing unusual, and each of them is worth a look at once. */
const PROMPT_LOOKS = 5
/** A server that never rests is looked at this seldom: each look costs everybody. */
const LONGEST_PAUSE = 30_000
/** After so long without a change a server has rested. */
const REST = 10_000

/** Looks again after a change was announced: once for many announcements, never twice at the same time, ever more seldom. */
export class CatalogueRefresh {
  readonly #look: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  /** Since the server last rested. */
  #looks = 0
  #lookedAt = Number.NEGATIVE_INFINITY
  #looking = false
  #stopped = false

  constructor(look: () => Promise<void>) {
    this.#look = look
  }

  soon(): void {
    if (this.#stopped) return
    if (this.#timer === undefined && performance.now() - this.#lookedAt > Math.max(REST, 2 * this.#pause()))
      this.#looks = 0
    this.#timer ??= setTimeout(() => void this.#run(), this.#pause())
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  #pause(): number {
    return Math.min(FIRST_PAUSE * 2 ** Math.max(0, this.#looks - PROMPT_LOOKS), LONGEST_PAUSE)
  }

  async #run(): Promise<void> {
    this.#timer = undefined
    if (this.#looking) return this.soon()
    this.#looking = true
    this.#lookedAt = performance.now()
    this.#looks++
    try {
      await this.#look()
    } finally {
      this.#looking = false
    }
  }
}
