interface Entry<Value> {
  readonly value: Value
  readonly until: number
}

/** Values that are valid until a given time. If the map is full, the oldest entry is dropped. */
export class ExpiringMap<Value> {
  readonly #limit: number
  readonly #now: () => number
  readonly #entries = new Map<string, Entry<Value>>()

  constructor(limit: number, now: () => number) {
    this.#limit = limit
    this.#now = now
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key)
    return entry !== undefined && this.#now() < entry.until ? entry.value : undefined
  }

  put(key: string, value: Value, until: number): void {
    this.#entries.delete(key)
    const oldest = this.#entries.size >= this.#limit ? this.#entries.keys().next() : undefined
    if (oldest?.done === false) this.#entries.delete(oldest.value)
    this.#entries.set(key, { value, until })
  }

  /** Removes the value. Returns it if it was still valid. */
  take(key: string): Value | undefined {
    const value = this.get(key)
    this.#entries.delete(key)
    return value
  }

  clear(): void {
    this.#entries.clear()
  }
}
