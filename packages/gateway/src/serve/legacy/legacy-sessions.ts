import { randomUUID } from 'node:crypto'
import { type Cancellation, type Principal, SallyportError, ShortLivedMap } from '@sallyport/core'
import type { ChangeHub } from '../rpc/change-hub.ts'
import { ClientSubscriptions } from '../rpc/client-subscriptions.ts'
import type { Handshake } from './handshake.ts'
import { LegacyClient } from './legacy-client.ts'
import { ReplayBudget } from './replay-budget.ts'
import { SessionStreams } from './session-streams.ts'

/** A conversation that began with `initialize` over HTTP. It has no sensitivity label: that belongs to Principal.session. */
export interface LegacySession {
  readonly id: string
  readonly principal: Principal
  readonly client: LegacyClient
  readonly subscriptions: ClientSubscriptions
  /** Requests in flight, by the client's request id. */
  readonly inFlight: ShortLivedMap<string | number, Cancellation>
  readonly streams: SessionStreams
  seenAt: number
}

const IDLE_TIMEOUT_MS = 3_600_000

export interface LegacySessionsOptions {
  readonly hub: ChangeHub
  readonly maxSessions: () => number
  readonly now: () => number
  /** Called when a conversation has ended. */
  readonly onEnd: (conversation: string) => void
}

/** The open legacy sessions. If there are too many, abandoned ones are ended. */
export class LegacySessions {
  readonly #hub: ChangeHub
  readonly #maxSessions: () => number
  readonly #now: () => number
  readonly #onEnd: (conversation: string) => void
  readonly #budget = new ReplayBudget()
  readonly #sessions = new Map<string, { readonly session: LegacySession; readonly leaveHub: () => void }>()

  constructor(options: LegacySessionsOptions) {
    this.#hub = options.hub
    this.#onEnd = options.onEnd
    this.#maxSessions = options.maxSessions
    this.#now = options.now
  }

  get size(): number {
    return this.#sessions.size
  }

  open(principal: Principal, handshake: Handshake): LegacySession {
    if (this.#sessions.size >= this.#maxSessions()) this.#evict()
    const id = randomUUID()
    const { protocolVersion } = handshake
    const session: LegacySession = {
      id,
      principal,
      client: new LegacyClient(id, handshake, {
        send: (message) => session.streams.send(message),
        isOpen: () => session.streams.isListening,
      }),
      subscriptions: new ClientSubscriptions((notification) => session.streams.send(notification)),
      inFlight: new ShortLivedMap(),
      streams: new SessionStreams({ sessionId: id, protocolVersion, budget: this.#budget, now: this.#now }),
      seenAt: this.#now(),
    }
    const leaveHub = this.#hub.add({
      principal,
      client: () => session.client,
      wants: { tools: true, resources: true, prompts: true },
      notify: (notification) => session.streams.send(notification),
    })
    this.#sessions.set(session.id, { session, leaveHub })
    return session
  }

  /** The session, if this caller opened it: knowing its id is not enough. */
  find(id: string, principal: Principal): LegacySession | undefined {
    const session = this.#sessions.get(id)?.session
    if (!session || !samePrincipal(session.principal, principal)) return undefined
    session.seenAt = this.#now()
    return session
  }

  end(session: LegacySession, reason: string): void {
    this.#sessions.get(session.id)?.leaveHub()
    this.#sessions.delete(session.id)
    session.subscriptions.close()
    for (const cancellation of session.inFlight.values()) cancellation.cancel(reason)
    session.client.close(reason)
    session.streams.close()
    this.#onEnd(session.id)
  }

  endAll(reason: string): void {
    for (const { session } of [...this.#sessions.values()]) this.end(session, reason)
  }

  /** Ends idle sessions first, then the oldest session of the owner with the most: nobody can displace others by opening many. */
  #evict(): void {
    const before = this.#now() - IDLE_TIMEOUT_MS
    const idle = [...this.#sessions.values()]
      .map(({ session }) => session)
      .filter((session) => !session.streams.isConnected && session.inFlight.size === 0)
    for (const session of idle) if (session.seenAt < before) this.end(session, 'the session was idle for too long')
    const left = new Set(idle.filter(({ id }) => this.#sessions.has(id)))
    // More than one has to end if the limit was lowered.
    while (this.#sessions.size >= this.#maxSessions()) {
      const oldest = oldestOfLargestOwner([...left])
      if (!oldest)
        throw new SallyportError(
          'OVERLOADED',
          `${this.#maxSessions()} sessions are open, which is the limit (gateway.max_sessions).`,
        )
      left.delete(oldest)
      this.end(oldest, 'a newer session took its place')
    }
  }
}

function oldestOfLargestOwner(sessions: readonly LegacySession[]): LegacySession | undefined {
  const byOwner = new Map<string, LegacySession[]>()
  for (const session of sessions) {
    const owner = JSON.stringify(session.principal)
    const owned = byOwner.get(owner)
    if (owned) owned.push(session)
    else byOwner.set(owner, [session])
  }
  const [largest = []] = [...byOwner.values()].sort((a, b) => b.length - a.length)
  return largest.reduce<LegacySession | undefined>(
    (oldest, session) => (oldest && oldest.seenAt <= session.seenAt ? oldest : session),
    undefined,
  )
}

const samePrincipal = (a: Principal, b: Principal): boolean =>
  a === b ||
  (a.user === b.user &&
    a.agent === b.agent &&
    a.profile === b.profile &&
    a.session === b.session &&
    a.role === b.role &&
    sameNarrowing(a, b))

/** Two tokens may differ only in how a launch narrowed their profile. */
const sameNarrowing = (a: Principal, b: Principal): boolean =>
  a.madeFor?.agent === b.madeFor?.agent &&
  a.madeFor?.profile === b.madeFor?.profile &&
  (a.tools === b.tools || JSON.stringify(a.tools) === JSON.stringify(b.tools))
