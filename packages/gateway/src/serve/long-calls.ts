/** A call that can become a stream before it has anything to say. */
export interface LongCall {
  beginStream(): void
}

const PATIENCE = 10_000

/**
 * Calls that take long become streams though they say nothing: proxies see a sign of life, and a client whose
 * connection breaks can resume. Two sets instead of a timer for each call, of which nearly all end at once.
 */
export class LongCalls {
  #young = new Set<LongCall>()
  #old = new Set<LongCall>()
  #timer: NodeJS.Timeout | undefined

  add(call: LongCall): void {
    this.#young.add(call)
    this.#timer ??= setInterval(() => this.#grow(), PATIENCE).unref()
  }

  delete(call: LongCall): void {
    if (!this.#young.delete(call)) this.#old.delete(call)
  }

  #grow(): void {
    for (const call of this.#old) call.beginStream()
    this.#old = this.#young
    this.#young = new Set()
    if (this.#old.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}
