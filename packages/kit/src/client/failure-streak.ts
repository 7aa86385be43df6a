import { canonicalJson, type JsonObject } from '@sallyport/core'

/** A failed call: what was asked, and what came of it. */
export interface FailedCall {
  readonly tool: string
  readonly args: JsonObject
  readonly text: string
}

/** The kit's servers name every bug anew; the same bug is the same failure. */
const INCIDENT = /\(incident [\w-]+\)/g

/** How often the same call has failed the same way, without anything else in between. */
export class FailureStreak {
  #last: string | undefined
  #length = 0

  /** Returns how long the streak is with this failure. */
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
