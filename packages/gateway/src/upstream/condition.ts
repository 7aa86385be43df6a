import type { UpstreamState } from './upstream-status.ts'

/** What a server is at the moment, since when, and why. */
export class CurrentState {
  state: UpstreamState
  /** For being shown. */
  since: number
  reason: string | undefined
  retryAt: number | undefined
  readonly #now: () => number
  /** By a clock that nobody sets. */
  #changedAt = performance.now()

  constructor(state: UpstreamState, now: () => number) {
    this.state = state
    this.since = now()
    this.#now = now
  }

  /** How long it has been so, in milliseconds. */
  get age(): number {
    return performance.now() - this.#changedAt
  }

  changeTo(state: UpstreamState, reason?: string): void {
    this.state = state
    this.since = this.#now()
    this.reason = reason
    this.retryAt = undefined
    this.#changedAt = performance.now()
  }
}
