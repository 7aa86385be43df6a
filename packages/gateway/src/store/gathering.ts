import type { SallyportError } from '@sallyport/core'
import type { EventText } from './records.ts'

/** Why a record could not be written; undefined when it is. */
export type WriteOutcome = SallyportError | undefined

interface Waiter {
  readonly event: EventText
  readonly resolve: (outcome: WriteOutcome) => void
  readonly reject: (bug: unknown) => void
}

/** Gathers what is to be recorded in one turn of the event loop: one write takes it all, before any of it goes on. */
export class Gathering {
  readonly #write: (events: readonly EventText[]) => readonly WriteOutcome[]
  readonly #flush = (): void => this.flush()
  #waiters: Waiter[] = []

  constructor(write: (events: readonly EventText[]) => readonly WriteOutcome[]) {
    this.#write = write
  }

  add(event: EventText): Promise<WriteOutcome> {
    return new Promise((resolve, reject) => {
      this.#waiters.push({ event, resolve, reject })
      if (this.#waiters.length === 1) setImmediate(this.#flush)
    })
  }

  /** Writes what waits, now. */
  flush(): void {
    if (this.#waiters.length === 0) return
    const waiters = this.#waiters
    this.#waiters = []
    try {
      const outcomes = this.#write(waiters.map(({ event }) => event))
      for (const [at, { resolve }] of waiters.entries()) resolve(outcomes[at])
    } catch (bug) {
      for (const { reject } of waiters) reject(bug)
    }
  }
}
