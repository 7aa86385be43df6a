import type { SallyportError } from '@sallyport/core'
import type { Answer } from './call.ts'

/**
 * At a call that had to wait until its server was there: only then is it known whether the server is still the one that
 * was reviewed (GOV-9), and a lockdown may have come meanwhile (GOV-13).
 */
export class SecondLook {
  readonly #judge: () => Promise<Answer | undefined> | undefined
  #refusal: Answer | undefined

  constructor(judge: () => Promise<Answer | undefined> | undefined) {
    this.#judge = judge
  }

  /** What its caller is told where it was not sent. It is recorded already. */
  get refusal(): Answer | undefined {
    return this.#refusal
  }

  /** For whoever is about to send it: why it must not be. */
  readonly look = async (): Promise<SallyportError | undefined> => {
    this.#refusal = await this.#judge()
    return this.#refusal?.kind === 'failure' ? this.#refusal.error : undefined
  }
}
