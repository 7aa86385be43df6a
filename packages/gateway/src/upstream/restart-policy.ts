/** Decides when a dead server is restarted, and when it is left alone for a while. */
export interface RestartPolicy {
  readonly initialDelay: number
  readonly maxDelay: number
  /** After this long without a crash, the count begins again. */
  readonly healthyAfter: number
  readonly circuitDeaths: number
  readonly circuitWindow: number
  /** How long an open circuit waits before it allows one attempt. */
  readonly probeInterval: number
}

export const DEFAULT_RESTART_POLICY: RestartPolicy = {
  initialDelay: 500,
  maxDelay: 30_000,
  healthyAfter: 60_000,
  circuitDeaths: 6,
  circuitWindow: 300_000,
  probeInterval: 30_000,
}

/** The crashes so far. */
export interface DeathRecord {
  /** Crashes since it was last healthy. */
  readonly attempt: number
  /** Times of the crashes within the circuit's window. */
  readonly deaths: readonly number[]
}

export const NO_DEATHS: DeathRecord = { attempt: 0, deaths: [] }

export interface RestartPlan {
  readonly record: DeathRecord
  readonly state: 'restarting' | 'broken'
  readonly delay: number
}

export interface Death {
  /** By a monotonic clock. */
  readonly at: number
  /** How long it had been healthy before. */
  readonly healthyFor: number
  /** From 0 up to, but not including, 1. */
  readonly random: number
}

/** Full jitter: the delay is a random part of a limit that doubles, so that many servers do not come back at once. */
export function planRestart(before: DeathRecord, death: Death, policy: RestartPolicy): RestartPlan {
  const attempt = death.healthyFor >= policy.healthyAfter ? 0 : before.attempt
  const deaths = [...before.deaths, death.at].filter((time) => death.at - time < policy.circuitWindow)
  const record = { attempt: attempt + 1, deaths }
  if (deaths.length >= policy.circuitDeaths) return { record, state: 'broken', delay: policy.probeInterval }
  const limit = Math.min(policy.maxDelay, policy.initialDelay * 2 ** attempt)
  return { record, state: 'restarting', delay: Math.floor(limit * death.random) }
}
