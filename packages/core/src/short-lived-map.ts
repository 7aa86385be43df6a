/**
 * A table whose entries come and go with every call. They stand in an array, and a Map holds only their places: a Map
 * that gains and loses an entry with every call keeps what its dead entries hold alive through the tables that it outgrew.
 */
export class ShortLivedMap<Key, Value extends object> {
  readonly #places = new Map<Key, number>()
  readonly #values: (Value | undefined)[] = []
  readonly #free: number[] = []

  get size(): number {
    return this.#places.size
  }

  get(key: Key): Value | undefined {
    const place = this.#places.get(key)
    return place === undefined ? undefined : this.#values[place]
  }

  has(key: Key): boolean {
    return this.#places.has(key)
  }

  set(key: Key, value: Value): void {
    const place = this.#places.get(key) ?? this.#free.pop() ?? this.#values.length
    this.#values[place] = value
    this.#places.set(key, place)
  }

  delete(key: Key): void {
    const place = this.#places.get(key)
    if (place === undefined) return
    this.#places.delete(key)
    this.#values[place] = undefined
    this.#free.push(place)
  }

  /** Those that are there now; what happens meanwhile changes nothing. */
  values(): readonly Value[] {
    return this.#values.filter((value) => value !== undefined)
  }
}
