import type { Exchange } from './exchange.ts'

/**
 * The requests that wait for an answer, by their ids. They stand in an array, and the Map holds only their places: a Map
 * that gains and loses an entry with every call keeps what its dead entries hold alive through the tables that it outgrew.
 */
export class OpenExchanges {
  readonly #places = new Map<number, number>()
  readonly #exchanges: (Exchange | undefined)[] = []
  readonly #free: number[] = []

  get(id: number): Exchange | undefined {
    const place = this.#places.get(id)
    return place === undefined ? undefined : this.#exchanges[place]
  }

  has(id: number): boolean {
    return this.#places.has(id)
  }

  add(exchange: Exchange): void {
    const place = this.#free.pop() ?? this.#exchanges.length
    this.#exchanges[place] = exchange
    this.#places.set(exchange.id, place)
  }

  delete(id: number): void {
    const place = this.#places.get(id)
    if (place === undefined) return
    this.#places.delete(id)
    this.#exchanges[place] = undefined
    this.#free.push(place)
  }

  /** Those that are open now; what happens meanwhile changes nothing. */
  all(): readonly Exchange[] {
    return this.#exchanges.filter((exchange) => exchange !== undefined)
  }
}
