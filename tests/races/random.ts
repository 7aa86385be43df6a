/** Random choices that a seed repeats. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** At least 0, below 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }

  /** An integer from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1))
  }

  happens(probability: number): boolean {
    return this.next() < probability
  }

  pick<Value>(from: readonly Value[]): Value {
    const picked = from[Math.floor(this.next() * from.length)]
    if (picked === undefined) throw new Error('there is nothing to pick from')
    return picked
  }
}

/** `SALLYPORT_SEED` repeats a run: the same schedules, although not the same turns of the event loop. */
export function readSeed(): number {
  const given = process.env.SALLYPORT_SEED
  return given === undefined ? Math.floor(Math.random() * 1_000_000) : Number(given)
}
