import { randomBytes } from 'node:crypto'

/** What a parked call belongs to. */
export interface Claim {
  /** Whose it is. */
  readonly owner: string
  /** Of which request: whoever comes back must ask for the same. */
  readonly request: string
}

interface Cancellable {
  cancel(): void
}

export interface ParkedCallsOptions {
  readonly patienceMs?: number
  readonly most?: number
  readonly mostOfOne?: number
}

interface Entry<Call> {
  readonly call: Call
  readonly claim: Claim
  readonly timer: NodeJS.Timeout
}

const TEN_MINUTES = 600_000

/** Calls of the modern era that wait for their clients to come back with answers. They live in this process. */
export class ParkedCalls<Call extends Cancellable = Cancellable> {
  readonly #entries = new Map<string, Entry<Call>>()
  readonly #patience: number
  readonly #most: number
  readonly #mostOfOne: number

  constructor({ patienceMs = TEN_MINUTES, most = 1_000, mostOfOne = 100 }: ParkedCallsOptions = {}) {
    this.#patience = patienceMs
    this.#most = most
    this.#mostOfOne = mostOfOne
  }

  get size(): number {
    return this.#entries.size
  }

  /** The state to come back with: a name that nobody can guess, good for once. Nothing where no more fit in. */
  park(call: Call, claim: Claim): string | undefined {
    const ofOne = [...this.#entries.values()].filter((entry) => entry.claim.owner === claim.owner).length
    if (this.#entries.size >= this.#most || ofOne >= this.#mostOfOne) return undefined
    const state = randomBytes(24).toString('base64url')
    const timer = setTimeout(() => this.#expire(state), this.#patience)
    timer.unref()
    this.#entries.set(state, { call, claim, timer })
    return state
  }

  /** The call, for whoever may go on with it. Another's state is left where it is. */
  take(state: string, claim: Claim): Call | undefined {
    const entry = this.#entries.get(state)
    if (entry === undefined || entry.claim.owner !== claim.owner || entry.claim.request !== claim.request)
      return undefined
    clearTimeout(entry.timer)
    this.#entries.delete(state)
    return entry.call
  }

  close(): void {
    for (const state of [...this.#entries.keys()]) this.#expire(state)
  }

  #expire(state: string): void {
    const entry = this.#entries.get(state)
    if (entry === undefined) return
    clearTimeout(entry.timer)
    this.#entries.delete(state)
    entry.call.cancel()
  }
}
