import { SallyportError } from '@sallyport/core'

/** Takes a thing out of its server again. */
export interface Registration {
  remove(): void
}

/** The named things of one kind that a server offers, in the order of their names. */
export class Registry<Entry> {
  readonly #noun: string
  readonly #onChange: () => void
  readonly #entries = new Map<string, Entry>()
  #isOffered = false

  constructor(noun: string, changed: () => void) {
    this.#noun = noun
    this.#onChange = changed
  }

  /** Something of this kind has been there; a server does not take back a capability that it declared. */
  get isOffered(): boolean {
    return this.#isOffered
  }

  add(key: string, entry: Entry): Registration {
    if (this.#entries.has(key))
      throw new SallyportError('USAGE', `The ${this.#noun} "${key}" is registered twice.`, {
        hint: 'Remove the first registration before adding another.',
      })
    this.#entries.set(key, entry)
    this.#isOffered = true
    this.#onChange()
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
    this.#onChange()
  }
}
