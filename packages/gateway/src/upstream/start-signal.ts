import { setTimeout as delay } from 'node:timers/promises'

/** An agent that sees the open port sends its request within a few milliseconds. */
const PAUSE_MS = 50
const LATE_MS = 10
const MAX_PAUSES = 4

/**
 * Decides when the servers are started: as soon as a client needs one, or after a pause in which nothing else happened.
 * Loading the transports and starting processes would delay a client that only wants a list.
 */
export class StartSignal {
  readonly #triggered = new AbortController()
  readonly #pauseMs: number

  constructor(pauseMs = PAUSE_MS) {
    this.#pauseMs = pauseMs
  }

  trigger(): void {
    this.#triggered.abort()
  }

  async wait(): Promise<void> {
    for (let pauses = 0; pauses < MAX_PAUSES; pauses++) if (await this.#wasCalm()) return
  }

  /**
   * A pause that ends late was one in which something blocked the event loop: its answer may still be on its way out.
   */
  async #wasCalm(): Promise<boolean> {
    const from = performance.now()
    try {
      await delay(this.#pauseMs, undefined, { signal: this.#triggered.signal })
    } catch {
      return true
    }
    return performance.now() - from < this.#pauseMs + LATE_MS
  }
}
