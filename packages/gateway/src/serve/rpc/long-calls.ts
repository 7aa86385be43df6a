/** A call that can become a stream before it has anything to say. */
export interface LongCall {
  /** Where it stands; only the table writes it. */
  index: number
  beginStream(): void
}

const STREAM_DELAY_MS = 10_000

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
    call.index = this.#young.length
    this.#young.push(call)
    this.#timer ??= setInterval(() => this.#age(), STREAM_DELAY_MS).unref()
  }

  /** The last one fills the gap. */
  delete(call: LongCall): void {
    const calls = this.#young[call.index] === call ? this.#young : this.#old
    if (calls[call.index] !== call) return
    const last = calls.pop()
    if (last === undefined || last === call) return
    calls[call.index] = last
    last.index = call.index
  }

  #age(): void {
    for (const call of this.#old) call.beginStream()
    this.#old = this.#young
    this.#young = []
    if (this.#old.length > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
