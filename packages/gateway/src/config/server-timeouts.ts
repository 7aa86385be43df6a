import { DEFAULT_TIMEOUTS } from './defaults.ts'
import type { IssueLog } from './issue-log.ts'
import type { ConfigNode } from './normalise.ts'
import type { CommonEntry } from './server-keys.ts'
import type { Timeouts } from './settings.ts'

type Limit = 'startup' | 'call' | 'max' | 'idle' | 'health'
type TimeoutKey = Exclude<Extract<keyof CommonEntry, `${string}imeout${string}`>, 'timeouts'> | 'idle'

/** The names that the ecosystem has for the same limits. */
const LIMIT_BY_KEY: Readonly<Record<TimeoutKey, Limit>> = {
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
  readonly node: ConfigNode | undefined
}

interface Entry {
  readonly entry: CommonEntry
  readonly node: ConfigNode
  readonly log: IssueLog
}

/** Of this kind of server, where its entry says nothing. */
export type DefaultTimeouts = Pick<Timeouts, 'startup' | 'call'>

export function readTimeouts({ entry, node, log }: Entry, usual: DefaultTimeouts = DEFAULT_TIMEOUTS): Timeouts {
  const given = collectTimeouts(entry, node, log)
  const call = given.get('call')?.ms ?? usual.call
  const max = given.get('max')
  if (max !== undefined && max.ms < call) {
    log.error(max.node ?? node, 'expected at least the call timeout; got less.')
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

function collectTimeouts(entry: CommonEntry, spot: ConfigNode, log: IssueLog): ReadonlyMap<Limit, Given> {
  const given = new Map<Limit, Given>()
  const add = (limit: Limit, ms: number | undefined, at: ConfigNode | undefined): void => {
    if (ms === undefined) return
    const earlier = given.get(limit)
    if (earlier === undefined) given.set(limit, { ms, node: at })
    else log.error(at ?? spot, `this sets the same limit as ${earlier.node?.key}. Keep one of them.`)
  }
  const group = spot.children.get('timeouts')
  for (const limit of ['startup', 'call', 'max', 'idle', 'health'] as const) {
    add(limit, entry.timeouts?.[limit], group?.children.get(limit))
  }
  for (const [key, limit] of Object.entries(LIMIT_BY_KEY) as [TimeoutKey, Limit][]) {
    add(limit, entry[key], spot.children.get(key))
  }
  return given
}
