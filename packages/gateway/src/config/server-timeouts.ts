import { DEFAULT_TIMEOUTS } from './defaults.ts'
import type { IssueLog } from './issue-log.ts'
import type { Spot } from './normalise.ts'
import type { CommonEntry } from './server-keys.ts'
import type { Timeouts } from './settings.ts'

type Limit = 'startup' | 'call' | 'max' | 'idle' | 'health'
type TimeoutKey = Exclude<Extract<keyof CommonEntry, `${string}imeout${string}`>, 'timeouts'> | 'idle'

/** The names that the ecosystem has for the same limits. */
const LIMIT_OF: Readonly<Record<TimeoutKey, Limit>> = {
  timeout: 'call',
  readTimeout: 'call',
  timeoutSeconds: 'call',
  toolTimeoutSec: 'call',
  toolTimeoutMs: 'call',
  startupTimeout: 'startup',
  startupTimeoutSec: 'startup',
  startupTimeoutMs: 'startup',
  idle: 'idle',
}

interface Given {
  readonly ms: number
  readonly spot: Spot | undefined
}

interface Entry {
  readonly entry: CommonEntry
  readonly spot: Spot
  readonly log: IssueLog
}

/** Of this kind of server, where its entry says nothing. */
export type UsualTimeouts = Pick<Timeouts, 'startup' | 'call'>

export function readTimeouts({ entry, spot, log }: Entry, usual: UsualTimeouts = DEFAULT_TIMEOUTS): Timeouts {
  const given = collect(entry, spot, log)
  const call = given.get('call')?.ms ?? usual.call
  const max = given.get('max')
  if (max !== undefined && max.ms < call) {
    log.error(max.spot ?? spot, 'expected at least the call timeout; got less.')
  }
  return {
    startup: given.get('startup')?.ms ?? usual.startup,
    call,
    callMaximum: max?.ms ?? Math.max(call, DEFAULT_TIMEOUTS.callMaximum),
    idle: given.get('idle')?.ms,
    // Zero switches the checks off.
    health: (given.get('health')?.ms ?? DEFAULT_TIMEOUTS.health) || undefined,
  }
}

function collect(entry: CommonEntry, spot: Spot, log: IssueLog): ReadonlyMap<Limit, Given> {
  const given = new Map<Limit, Given>()
  const add = (limit: Limit, ms: number | undefined, at: Spot | undefined): void => {
    if (ms === undefined) return
    const earlier = given.get(limit)
    if (earlier === undefined) given.set(limit, { ms, spot: at })
    else log.error(at ?? spot, `this sets the same limit as ${earlier.spot?.key}. Keep one of them.`)
  }
  const group = spot.children.get('timeouts')
  for (const limit of ['startup', 'call', 'max', 'idle', 'health'] as const) {
    add(limit, entry.timeouts?.[limit], group?.children.get(limit))
  }
  for (const [key, limit] of Object.entries(LIMIT_OF) as [TimeoutKey, Limit][]) {
    add(limit, entry[key], spot.children.get(key))
  }
  return given
}
