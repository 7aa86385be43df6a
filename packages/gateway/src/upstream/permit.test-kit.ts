import { SallyportError } from '@sallyport/core'
import { type Permit, usePermit } from './permit.ts'

export const lockedDown = (): SallyportError => new SallyportError('MODE_FORBIDS', 'There is a lockdown.')

/** A permit that a test can make stale, and whose renewal it answers. */
export class TestPermit implements Permit {
  isCurrent = true
  timesSent = 0
  timesRenewed = 0
  #outcome: Promise<SallyportError | undefined> = Promise.resolve(undefined)

  /** From now on it must be renewed, with this result: a refusal, or `undefined`. */
  becomeStale(outcome: Promise<SallyportError | undefined> = Promise.resolve(lockedDown())): this {
    this.isCurrent = false
    this.#outcome = outcome
    return this
  }

  onSent(): void {
    this.timesSent++
  }

  async renew(): Promise<SallyportError | undefined> {
    this.timesRenewed++
    const refusal = await this.#outcome
    this.isCurrent = refusal === undefined
    return refusal
  }
}

/** For a fake transport: checks the permit as every real one does. */
export async function sendAs<Reply>(permit: Permit, send: () => Reply): Promise<Awaited<Reply>> {
  while (!usePermit(permit)) {
    const refusal = await permit.renew()
    if (refusal) throw refusal
  }
  return await send()
}
