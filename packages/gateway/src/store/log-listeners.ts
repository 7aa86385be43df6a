import type { LoggedEvent } from '@sallyport/core'

type Listener = (event: LoggedEvent) => void

interface Entry {
  readonly listener: Listener
  complained: boolean
}

/** Calls listeners with what was written, in the order of the log, and survives their errors. */
export class LogListeners {
  readonly #entries = new Set<Entry>()
  readonly #queue: LoggedEvent[] = []
  #isNotifying = false

  add(listener: Listener): () => void {
    const entry = { listener, complained: false }
    this.#entries.add(entry)
    return () => {
      this.#entries.delete(entry)
    }
  }

  /** A listener may append: that event is delivered after everything that was written before it. */
  notify(lines: Buffer): void {
    if (this.#entries.size === 0) return
    for (const line of lines.toString().slice(0, -1).split('\n')) this.#queue.push(JSON.parse(line) as LoggedEvent)
    if (this.#isNotifying) return
    this.#isNotifying = true
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) this.#notifyAll(next)
    this.#isNotifying = false
  }

  #notifyAll(event: LoggedEvent): void {
    for (const entry of [...this.#entries]) {
      if (!this.#entries.has(entry)) continue
      try {
        entry.listener(event)
      } catch (cause) {
        warnOnce(entry, cause)
      }
    }
  }
}

/** A listener's bug must neither fail the append nor be silent. */
function warnOnce(entry: Entry, cause: unknown): void {
  if (entry.complained) return
  entry.complained = true
  process.emitWarning(`A watcher of the event log failed: ${cause instanceof Error ? cause.message : String(cause)}`)
}
