import { quoteText, SallyportError, type SallyportEvent, toOwnerKey } from '@sallyport/core'
import type { LabelledSession, SessionLabels } from '../governance/governance.ts'
import type { SessionResults } from '../isolation/isolation.ts'
import type { SessionControl, SessionFacts, SessionName } from '../serve/serve.ts'
import type { EndedSessions } from '../sessions/sessions.ts'
import type { LabelRecords } from '../store/store.ts'
import type { ServerPurges } from './server-purges.ts'

export interface SessionControlOptions {
  readonly labels: SessionLabels
  readonly records: LabelRecords
  readonly ended: EndedSessions
  readonly sessionResults: Pick<SessionResults, 'removeData' | 'removalTime'>
  /** Resolves when no process of the session reaches more than its label allows; `undefined` if none does. */
  readonly narrowing?: (owner: SessionName & { readonly user: string }) => Promise<void> | undefined
  /** Ends what runs for a session that has ended, and removes its workspace. */
  readonly endPrograms: (owner: SessionName & { readonly user: string }) => Promise<void>
  /** Without a running gateway, servers are asked at the next start. */
  readonly purges?: Pick<ServerPurges, 'purge'>
  /** Resolves when the event is on disk. */
  readonly record: (event: SallyportEvent) => Promise<void>
}

/** What an operator sees of sessions, and does with them. */
export function createSessionControl(options: SessionControlOptions): SessionControl {
  const { labels, records, ended, sessionResults, narrowing, endPrograms, purges, record } = options
  const list = (): readonly SessionFacts[] =>
    mergeSessions(labels, records).map((one) => ({ ...one, ended: ended.hasEnded(one) }))
  return {
    list,
    find: (name) => findSession(list(), name),
    async raise(name, sensitivity, { why, ...by }) {
      const owner = findSession(list(), name)
      const session = await labels.load({ ...owner, role: 'agent' })
      const dataset = { name: 'said by an operator', sensitivity }
      await labels.raise(session, { datasets: [dataset], reason: why ?? 'an operator raised it', by })
      await narrowing?.(owner)
      return findSession(list(), owner)
    },
    async end(name, { isPurged, ...by }) {
      const found = { ...findSession(list(), name), ended: true }
      const { user, session, sensitivity } = found
      await record({ type: 'SESSION_ENDED', user, session, sensitivity, purged: isPurged, ...by })
      const now = Date.now()
      const next = await ended.end(found, { ended: now, isPurged })
      // What cannot be ended must not keep the key and the files.
      const [ending] = await Promise.allSettled([endPrograms(found)])
      if (!isPurged) {
        throwIfRejected(ending)
        return { ended: found, next, keptUntil: new Date(sessionResults.removalTime(now)) }
      }
      const removed = await sessionResults.removeData(found)
      const servers = await purges?.purge(found)
      const at_servers = servers?.map(({ server, outcome, files }) => ({ server, outcome, files }))
      await record({
        ...{ type: 'SESSION_DATA_REMOVED', user, session, ...removed, reason: 'purge' },
        ...(at_servers && { at_servers }),
      })
      throwIfRejected(ending)
      return { ended: found, next, removed, ...(servers && { servers }) }
    },
  }
}

function throwIfRejected(result: PromiseSettledResult<void>): void {
  if (result.status === 'rejected') throw result.reason
}

type KnownSession = Omit<SessionFacts, 'ended'>

/** The sessions that have called since the start, and those that are remembered because they have a label. */
function mergeSessions(labels: SessionLabels, records: LabelRecords): readonly KnownSession[] {
  const found = new Map<string, KnownSession>()
  for (const { raised, ...record } of records.list())
    found.set(toOwnerKey(record), { ...record, untrusted: false, datasets: [], raised: new Date(raised) })
  for (const session of labels.known) {
    const key = toOwnerKey(session.owner)
    found.set(key, toKnownSession(session, found.get(key)?.raised))
  }
  return [...found.values()].sort((one, other) => (one.session < other.session ? -1 : 1))
}

/** A session that was read from the disk has not been raised by this gateway; then the time is a remembered one. */
function toKnownSession(
  { owner, current, since, raisedAt }: LabelledSession,
  remembered: Date | undefined,
): KnownSession {
  const { sensitivity, isUntrusted, datasets, problem } = current
  return { ...owner, sensitivity, untrusted: isUntrusted, datasets, since, raised: raisedAt ?? remembered, problem }
}

/** A name without its user must be that of one session. */
function findSession(all: readonly SessionFacts[], { user, session }: SessionName): SessionFacts {
  const found = all.filter((one) => one.session === session && (user === undefined || one.user === user))
  const [only, other] = found
  if (only !== undefined && other === undefined) return only
  if (only === undefined)
    throw new SallyportError('SESSION_MISSING', `There is no session ${quoteText(session, 100)}.`, {
      hint: '`sallyport sessions` lists those that have called since the start or have a label.',
    })
  const users = found.map((one) => one.user).join(', ')
  throw new SallyportError('NAME_AMBIGUOUS', `The session ${quoteText(session, 100)} exists for ${users}.`, {
    hint: 'Name one of them with --user.',
  })
}
