import { SallyportError } from '@sallyport/core'

/** Takes a thing out of its server again. */
export interface Registration {
  remove(): void
}

/** The named things of one kind that a server offers, in the order of their names. */
export class Registry<Entry> {
  readonly #noun: string
  readonly #changed: () => void
  readonly #entries = new Map<string, Entry>()
  #offered = false

  constructor(noun: string, changed: () => void) {
    this.#noun = noun
    this.#changed = changed
  }

  /** Something of this kind has been there; a server does not take back a capability that it declared. */
  get offered(): boolean {
    return this.#offered
  }

  add(key: string, entry: Entry): Registration {
    if (this.#entries.has(key))
      throw new SallyportError('USAGE', `The ${this.#noun} "${key}" is registered twice.`, {
        hint: 'Remove the first registration before adding another.',
      })
    this.#entries.set(key, entry)
    this.#offered = true
    this.#changed()
    return { remove: () => this.#remove(key, entry) }
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key)
  }

  /** Sorted by code unit, so that every listing of the same things is the same text. */
  list(): readonly Entry[] {
    const sorted = [...this.#entries].sort(([a], [b]) => (a < b ? -1 : 1))
    return sorted.map(([, entry]) => entry)
  }

  #remove(key: string, entry: Entry): void {
    if (this.#entries.get(key) !== entry) return
    this.#entries.delete(key)
    this.#changed()
  }
}
