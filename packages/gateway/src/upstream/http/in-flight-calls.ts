/** An entry of the table. It stores its own index. */
export interface Indexed {
  readonly id: number
  /** Only the table writes it. */
  index: number
}

/**
 * The calls in flight. It is an array whose gaps are filled from its end: a Map that gains and loses an entry with
 * every call keeps dead entries alive in its old tables, which cost a quarter of the CPU time of a call.
 */
export class InFlightCalls<Call extends Indexed> {
  readonly #calls: Call[] = []

  add(call: Call): void {
    call.index = this.#calls.length
    this.#calls.push(call)
  }

  delete(call: Call): void {
    if (this.#calls[call.index] !== call) return
    const last = this.#calls.pop() as Call
    if (last !== call) {
      this.#calls[call.index] = last
      last.index = call.index
    }
    call.index = -1
  }

  /** Linear, because only the few abandoned calls are looked up. */
  find(id: number): Call | undefined {
    return this.#calls.find((call) => call.id === id)
  }

  filter(choose: (call: Call) => boolean): readonly Call[] {
    return this.#calls.filter(choose)
  }

  /** Removes and returns all of them. */
  clear(): readonly Call[] {
    return this.#calls.splice(0)
  }
}
