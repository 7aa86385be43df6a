import { randomBytes } from 'node:crypto'

/** The owner and the request that a parked call belongs to. */
export interface CallBinding {
  /** The caller. */
  readonly owner: string
  /** The request: whoever continues the call must send the same one. */
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

/** Calls of the modern era that wait until their clients send answers. They exist in this process only. */
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

  /** Returns the state with which the client continues the call: random, and valid once. `undefined` if a limit is reached. */
  park(call: Call, binding: CallBinding): string | undefined {
    const ofOne = [...this.#entries.values()].filter((entry) => entry.binding.owner === binding.owner).length
    if (this.#entries.size >= this.#maxCalls || ofOne >= this.#maxPerOwner) return undefined
    const state = randomBytes(24).toString('base64url')
    const timer = setTimeout(() => this.#expire(state), this.#timeoutMs)
    timer.unref()
    this.#entries.set(state, { call, binding, timer })
    return state
  }

  /** Returns and removes the call if this caller may continue it. The state of another caller stays valid. */
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
