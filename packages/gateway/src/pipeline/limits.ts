import { ALLOW, type Step, type Verdict } from '@sallyport/core'

/** How many calls are under way in the whole gateway. */
export class CallGauge {
  readonly #most: () => number
  #now = 0

  constructor(most: () => number) {
    this.#most = most
  }

  get inFlight(): number {
    return this.#now
  }

  get full(): boolean {
    return this.#now >= this.#most()
  }

  enter(): void {
    this.#now++
  }

  leave(): void {
    this.#now--
  }
}

/** Refuses at once what would only wait behind too much else. */
export function limits(gauge: CallGauge): Step<unknown> {
  return { name: 'limits', judge: () => judgeLoad(gauge) }
}

function judgeLoad(gauge: CallGauge): Verdict {
  if (!gauge.full) return ALLOW
  return {
    outcome: 'deny',
    code: 'OVERLOADED',
    reason: `${gauge.inFlight} calls are under way, which is the limit (gateway.max_calls_in_flight).`,
  }
}
