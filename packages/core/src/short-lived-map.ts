/**
 * A map whose entries are added and deleted with every call. The values are in an array, and a Map holds only their
 * indexes. If the Map held the values, the internal tables that it has outgrown would keep deleted values alive.
 */
export class ShortLivedMap<Key, Value extends object> {
  readonly #indexes = new Map<Key, number>()
  readonly #values: (Value | undefined)[] = []
  readonly #free: number[] = []

  get size(): number {
    return this.#indexes.size
  }

  get(key: Key): Value | undefined {
    const index = this.#indexes.get(key)
    return index === undefined ? undefined : this.#values[index]
  }

  has(key: Key): boolean {
    return this.#indexes.has(key)
  }

  set(key: Key, value: Value): void {
    const index = this.#indexes.get(key) ?? this.#free.pop() ?? this.#values.length
    this.#values[index] = value
    this.#indexes.set(key, index)
  }

  delete(key: Key): void {
    const index = this.#indexes.get(key)
    if (index === undefined) return
    this.#indexes.delete(key)
    this.#values[index] = undefined
    this.#free.push(index)
  }

  /** A copy of the current values: later changes to the map do not affect it. */
  values(): readonly Value[] {
    return this.#values.filter((value) => value !== undefined)
  }
}
