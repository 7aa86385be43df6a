/** Runs tasks one after the other, even if an earlier one failed. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve()

  run<Value>(work: () => Promise<Value>): Promise<Value> {
    const result = this.#last.then(work)
    this.#last = result.catch(() => undefined)
    return result
  }
}
