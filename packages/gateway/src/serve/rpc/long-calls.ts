/** A call that can open its stream before it has a message to send. */
export interface LongCall {
  /** Its index in the array; only `LongCalls` writes it. */
  index: number
  beginStream(): void
}

const STREAM_DELAY_MS = 10_000

/**
 * Opens a stream for calls that take long, although there is no message yet: proxies see that the call is alive, and a
 * client whose connection breaks can resume. Nearly all calls end quickly, so there are two generations instead of a
 * timer per call. They are arrays: the old tables of a grown Set keep deleted entries alive.
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

  /** Moves the last call into the gap. */
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
