import { SallyportError } from '@sallyport/core'
import type { Identity } from '../identity/identity.ts'
import type { McpServer } from '../mcp-server.ts'
import { LegacySession } from './legacy-session.ts'

export interface LegacySessionsOptions {
  readonly idleTimeoutMs: number
  readonly maxSessions: number
  readonly maxSessionsPerUser: number
  readonly now: () => number
}

/** The open sessions of the legacy era. Those that a client forgot make room for new ones. */
export class LegacySessions {
  readonly #server: McpServer
  readonly #options: LegacySessionsOptions
  readonly #sessions = new Map<string, LegacySession>()
  readonly #sweeper: NodeJS.Timeout

  constructor(server: McpServer, options: LegacySessionsOptions) {
    this.#server = server
    this.#options = options
    this.#sweeper = setInterval(() => this.#endIdle(), Math.min(options.idleTimeoutMs, 60_000)).unref()
  }

  /** Throws when there are too many. */
  open(owner: Identity): LegacySession {
    this.#endIdle()
    const { maxSessions, maxSessionsPerUser, now } = this.#options
    this.#makeRoom(maxSessionsPerUser, (session) => session.owner.userId === owner.userId)
    this.#makeRoom(maxSessions, () => true)
    const session = new LegacySession(this.#server, owner, now())
    this.#sessions.set(session.id, session)
    return session
  }

  /** The session, if this caller may use it: knowing its id is not enough. */
  find(id: string, caller: Identity): LegacySession {
    const session = this.#sessions.get(id)
    if (session === undefined || !isSameCaller(session.owner, caller))
      throw new SallyportError('SESSION_UNKNOWN', 'There is no such session (any more).', {
        hint: 'Send initialize again.',
      })
    session.lastSeenAt = this.#options.now()
    return session
  }

  end(session: LegacySession): void {
    if (this.#sessions.delete(session.id)) session.end()
  }

  close(): void {
    clearInterval(this.#sweeper)
    for (const session of [...this.#sessions.values()]) this.end(session)
  }

  #endIdle(): void {
    const before = this.#options.now() - this.#options.idleTimeoutMs
    for (const session of [...this.#sessions.values()])
      if (session.isAbandoned && session.lastSeenAt <= before) this.end(session)
  }

  /** The quiet one that was seen last longest ago goes, of whoever has the most: nobody can push out others by opening many. */
  #makeRoom(most: number, counts: (session: LegacySession) => boolean): void {
    const sessions = [...this.#sessions.values()].filter(counts)
    if (sessions.length < most) return
    const oldest = findSessionToEvict(sessions.filter(({ isIdle }) => isIdle))
    if (oldest === undefined)
      throw new SallyportError('OVERLOADED', `${most} sessions are open and in use, which is the limit.`, {
        hint: 'End one with DELETE first.',
      })
    this.end(oldest)
  }
}

function findSessionToEvict(sessions: readonly LegacySession[]): LegacySession | undefined {
  const counts = new Map<string, number>()
  for (const { owner } of sessions) counts.set(owner.userId, (counts.get(owner.userId) ?? 0) + 1)
  const size = ({ owner }: LegacySession): number => counts.get(owner.userId) ?? 0
  return [...sessions].sort((a, b) => size(b) - size(a) || a.lastSeenAt - b.lastSeenAt)[0]
}

const isSameCaller = (a: Identity, b: Identity): boolean => a.userId === b.userId && a.sessionId === b.sessionId
