import type { SallyportError } from '@sallyport/core'
import type { EventText } from './records.ts'

/** Why a record could not be written; undefined when it is. */
export type WriteOutcome = SallyportError | undefined

/** Undefined: all of them are written. */
type Write = (events: readonly EventText[]) => readonly WriteOutcome[] | undefined

interface Waiter {
  readonly resolve: (outcome: WriteOutcome) => void
  readonly reject: (bug: unknown) => void
}

/** Gathers what is to be recorded in one turn of the event loop: one write takes it all, before any of it goes on. */
export class BatchWriter {
  readonly #write: Write
  readonly #flush = (): void => this.flush()
  #events: EventText[] = []
  #waiters: Waiter[] = []

  constructor(write: Write) {
    this.#write = write
  }

  add(event: EventText): Promise<WriteOutcome> {
    return new Promise((resolve, reject) => {
      if (this.#events.push(event) === 1) setImmediate(this.#flush)
      this.#waiters.push({ resolve, reject })
    })
  }

  /** Writes what waits, now. */
  flush(): void {
    if (this.#events.length === 0) return
    const events = this.#events
    const waiters = this.#waiters
    this.#events = []
    this.#waiters = []
    try {
      const outcomes = this.#write(events)
      let at = 0
      for (const { resolve } of waiters) resolve(outcomes?.[at++])
    } catch (bug) {
      for (const { reject } of waiters) reject(bug)
    }
  }
}
