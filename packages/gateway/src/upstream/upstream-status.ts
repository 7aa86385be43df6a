import type { Health } from './health-check.ts'
import type { DropCounts } from './link/dropped-messages.ts'
import type { UpstreamConfig } from './upstream-config.ts'

export type UpstreamState =
  | 'disabled'
  | 'stopped'
  | 'starting'
  | 'ready'
  | 'restarting'
  | 'broken'
  | 'needs-login'
  | 'closed'

export interface UpstreamStatus {
  readonly id: string
  readonly kind: UpstreamConfig['kind']
  readonly state: UpstreamState
  readonly since: number
  /** Why it is not ready. */
  readonly reason: string | undefined
  /** When the next attempt will be made. */
  readonly retryAt: number | undefined
  readonly restarts: number
  readonly era: string | undefined
  readonly pid: number | undefined
  /** The last lines that it or we had to say about it. */
  readonly messages: readonly string[]
  /** How many of its messages were not passed on, by reason. */
  readonly dropped: DropCounts
  /** What its health checks found; undefined before the first one, and where there are none. */
  readonly health?: Health | undefined
  /** Of a server that not all clients share. */
  readonly ownConnections?: OwnConnections
}

export interface OwnConnections {
  readonly count: number
  /** Of the ones that were used last. */
  readonly pids: readonly number[]
}
