/** A call that can become a stream before it has anything to say. */
export interface LongCall {
  /** Where it stands; only the table writes it. */
  place: number
  beginStream(): void
}

const PATIENCE = 10_000

/**
 * Calls that take long become streams though they say nothing: proxies see a sign of life, and a client whose
 * connection breaks can resume. Two tables instead of a timer for each call, of which nearly all end at once; arrays,
 * since a Set keeps what has left it alive through the tables that it outgrew.
 */
export class LongCalls {
  #young: LongCall[] = []
  #old: LongCall[] = []
  #timer: NodeJS.Timeout | undefined

  add(call: LongCall): void {
    call.place = this.#young.length
    this.#young.push(call)
    this.#timer ??= setInterval(() => this.#grow(), PATIENCE).unref()
  }

  /** The last one fills the gap. */
  delete(call: LongCall): void {
    const calls = this.#young[call.place] === call ? this.#young : this.#old
    if (calls[call.place] !== call) return
    const last = calls.pop()
    if (last === undefined || last === call) return
    calls[call.place] = last
    last.place = call.place
  }

  #grow(): void {
    for (const call of this.#old) call.beginStream()
    this.#old = this.#young
    this.#young = []
    if (this.#old.length > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
