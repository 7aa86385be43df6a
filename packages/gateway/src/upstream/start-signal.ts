import { setTimeout as delay } from 'node:timers/promises'

/** An agent that was told of the open port asks within a few milliseconds. */
const PAUSE_MS = 50
const LATE_MS = 10
const MAX_PAUSES = 4

/**
 * When the servers are put to work: as soon as somebody needs one, or after a pause in which nothing else was done.
 * Loading what speaks to them, and starting their processes, would hold up who came in for a list.
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

  /** A pause that ends late was one in which something kept the event loop: its answer may still be leaving. */
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
