import { randomBytes } from 'node:crypto'

/** What a parked call belongs to. */
export interface CallBinding {
  /** Whose it is. */
  readonly owner: string
  /** Of which request: whoever comes back must ask for the same. */
  readonly request: string
}

interface Cancellable {
  cancel(): void
}

export interface ParkedCallsOptions {
  readonly timeoutMs?: number
  readonly maxCalls?: number
  readonly maxPerOwner?: number
}

interface Entry<Call> {
  readonly call: Call
  readonly binding: CallBinding
  readonly timer: NodeJS.Timeout
}

const DEFAULT_TIMEOUT_MS = 600_000

/** Calls of the modern era that wait for their clients to come back with answers. They live in this process. */
export class ParkedCalls<Call extends Cancellable = Cancellable> {
  readonly #entries = new Map<string, Entry<Call>>()
  readonly #timeoutMs: number
  readonly #maxCalls: number
  readonly #maxPerOwner: number

  constructor({ timeoutMs = DEFAULT_TIMEOUT_MS, maxCalls = 1_000, maxPerOwner = 100 }: ParkedCallsOptions = {}) {
    this.#timeoutMs = timeoutMs
    this.#maxCalls = maxCalls
    this.#maxPerOwner = maxPerOwner
  }

  get size(): number {
    return this.#entries.size
  }

  /** The state to come back with: a name that nobody can guess, good for once. Nothing where no more fit in. */
  park(call: Call, binding: CallBinding): string | undefined {
    const ofOne = [...this.#entries.values()].filter((entry) => entry.binding.owner === binding.owner).length
    if (this.#entries.size >= this.#maxCalls || ofOne >= this.#maxPerOwner) return undefined
    const state = randomBytes(24).toString('base64url')
    const timer = setTimeout(() => this.#expire(state), this.#timeoutMs)
    timer.unref()
    this.#entries.set(state, { call, binding, timer })
    return state
  }

  /** The call, for whoever may go on with it. Another's state is left where it is. */
  take(state: string, claim: CallBinding): Call | undefined {
    const entry = this.#entries.get(state)
    if (entry === undefined || entry.binding.owner !== claim.owner || entry.binding.request !== claim.request)
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
