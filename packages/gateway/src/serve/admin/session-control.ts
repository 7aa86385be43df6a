import type { Sensitivity } from '@sallyport/core'

/** A session by its name; with the user, if several users have one of that name. */
export interface SessionName {
  readonly user?: string | undefined
  readonly session: string
}

/** What is known of a session. */
export interface SessionFacts {
  readonly user: string
  readonly session: string
  /** The agent and profile that called first, or that raised the label last. */
  readonly agent: string
  readonly profile: string
  readonly sensitivity: Sensitivity
  readonly untrusted: boolean
  /** What it has seen; empty for a session that has not called since the start. */
  readonly datasets: readonly { readonly name: string; readonly sensitivity: Sensitivity }[]
  readonly since?: Date | undefined
  readonly raised?: Date | undefined
  readonly problem?: string | undefined
  /** An operator ended it: no new connection is in it. */
  readonly ended: boolean
}

interface ActedBy {
  readonly by: string
  readonly via: string
}

export interface EndedSession {
  readonly ended: SessionFacts
  /** The name of the next session of the same credential. */
  readonly next: string
  /** What was removed of it, if it was purged. */
  readonly removed?: { readonly files: number; readonly bytes: number; readonly key: boolean }
  /** What servers with `identity: forward` have removed of it. Missing if no gateway runs: they are asked at its start. */
  readonly servers?: readonly PurgedServer[]
  /** When its data will be removed, if it was not. */
  readonly keptUntil?: Date
}

interface PurgedServer {
  readonly server: string
  readonly outcome: 'removed' | 'unsupported' | 'failed'
  readonly files: number
  readonly bytes: number
  readonly reason?: string
}

/** What an operator can do with sessions. Errors: SESSION_MISSING, NAME_AMBIGUOUS. */
export interface SessionControl {
  list(): readonly SessionFacts[]
  find(name: SessionName): SessionFacts
  raise(
    name: SessionName,
    sensitivity: Sensitivity,
    why: ActedBy & { readonly why?: string | undefined },
  ): Promise<SessionFacts>
  end(name: SessionName, how: ActedBy & { readonly isPurged: boolean }): Promise<EndedSession>
}
