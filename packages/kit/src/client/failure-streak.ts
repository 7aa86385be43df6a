import { canonicalJson, type JsonObject } from '@sallyport/core'

/** A failed call: its tool and arguments, and the text of its error. */
export interface FailedCall {
  readonly tool: string
  readonly args: JsonObject
  readonly text: string
}

/** Kit servers give every occurrence of a bug a new incident id, so ids are ignored when failures are compared. */
const INCIDENT = /\(incident [\w-]+\)/g

/** Counts how often in a row the same call failed the same way. */
export class FailureStreak {
  #last: string | undefined
  #length = 0

  /** Returns the length of the streak, including this failure. */
  add({ tool, args, text }: FailedCall): number {
    const failure = canonicalJson([tool, args, text.replaceAll(INCIDENT, '')])
    this.#length = failure === this.#last ? this.#length + 1 : 1
    this.#last = failure
    return this.#length
  }

  reset(): void {
    this.#last = undefined
    this.#length = 0
  }
}
