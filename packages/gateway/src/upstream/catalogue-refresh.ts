/** Changes of a list come in storms; between two looks at it lies at least this. */
const INTERVAL = 200

/** Looks again after a change was announced: once for many announcements, never twice at the same time. */
export class CatalogueRefresh {
  readonly #look: () => Promise<void>
  #timer: NodeJS.Timeout | undefined
  #looking = false
  #stopped = false

  constructor(look: () => Promise<void>) {
    this.#look = look
  }

  soon(): void {
    if (this.#stopped) return
    this.#timer ??= setTimeout(() => void this.#run(), INTERVAL)
  }

  stop(): void {
    this.#stopped = true
    clearTimeout(this.#timer)
  }

  async #run(): Promise<void> {
    this.#timer = undefined
    if (this.#looking) return this.soon()
    this.#looking = true
    try {
      await this.#look()
    } finally {
      this.#looking = false
    }
  }
}
