/** Changes of a list come in storms; between two looks at it lies at least this. */
const FIRST_PAUSE = 200
/** A server that never rests is looked at this seldom: each look costs everybody. */
const LONGEST_PAUSE = 30_000

/** Looks again after a change was announced: once for many announcements, never twice at the same time, ever more seldom. */
export class CatalogueRefresh {
  readonly #look: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  #pause = FIRST_PAUSE
  #lookedAt = Number.NEGATIVE_INFINITY
  #looking = false
  #stopped = false

  constructor(look: () => Promise<void>) {
    this.#look = look
  }

  soon(): void {
    if (this.#stopped) return
    // Quiet for twice the pause: the storm is over.
    if (this.#timer === undefined && performance.now() - this.#lookedAt > 2 * this.#pause) this.#pause = FIRST_PAUSE
    this.#timer ??= setTimeout(() => void this.#run(), this.#pause)
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  async #run(): Promise<void> {
    this.#timer = undefined
    if (this.#looking) return this.soon()
    this.#looking = true
    this.#lookedAt = performance.now()
    this.#pause = Math.min(2 * this.#pause, LONGEST_PAUSE)
    try {
      await this.#look()
    } finally {
      this.#looking = false
    }
  }
}
