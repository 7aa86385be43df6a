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
  /** The last lines of its output, and our own remarks about it. */
  readonly messages: readonly string[]
  /** How many lines there have been, also those that were dropped. */
  readonly messageCount: number
  /** How many of its messages were dropped, by reason. */
  readonly dropped: DropCounts
  /** The result of its health checks; `undefined` before the first one, and if there are none. */
  readonly health?: Health | undefined
  /** For a connected server with `identity: forward`: whether it declares that it takes caller tokens. */
  readonly takesCallers?: boolean | undefined
  /** For a server that not all clients share. */
  readonly ownConnections?: OwnConnections
}

export interface OwnConnections {
  readonly count: number
  /** The pids of the most recently used ones. */
  readonly pids: readonly number[]
}
