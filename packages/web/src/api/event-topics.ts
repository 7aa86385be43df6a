import type { QueryClient } from '@tanstack/react-query'
import type { EventView } from '../../../gateway/src/serve/api/api.ts'
import { eventStream } from './event-stream.ts'
import { approvalsQuery, liveQuery, modeQuery } from './queries.ts'

/** Which queries an event makes stale, by the first part of their keys. */
const TOPICS: readonly (readonly [prefix: string, topics: readonly string[]])[] = [
  ['APPROVAL_', ['approvals']],
  ['MODE_CHANGED', ['mode', 'status', 'tools', 'approvals', 'overview']],
  ['UPSTREAM_', ['servers', 'status', 'tools', 'overview', 'health']],
  ['CONFIG_', ['servers', 'status', 'tools', 'agents', 'settings', 'overview', 'health']],
  ['COUNTERPART_', ['servers']],
  ['TOOLS_', ['tools', 'offers', 'tools-file', 'status', 'servers', 'agents', 'overview', 'health']],
  ['PIN_CHANGED', ['tools', 'offers', 'tools-file']],
  ['DEFINITION_', ['tools', 'offers', 'status']],
  ['FINDINGS_', ['tools', 'offers', 'status']],
  ['PROFILES_CHANGED', ['profiles', 'agents', 'overview']],
  ['TOKEN_', ['tokens']],
  ['SENSITIVITY_', ['sessions']],
  ['SESSION_', ['sessions']],
  ['SANDBOX_', ['sessions']],
  ['TOOL_CALL_', ['calls', 'savings', 'sessions', 'overview']],
  ['POLICY_DENIED', ['calls', 'sessions', 'overview']],
]

/** What changes with every call is read again only after a pause. */
const PAUSES: Readonly<Record<string, number>> = {
  ...{ calls: 3_000, sessions: 3_000, overview: 3_000, health: 3_000 },
  // For this one, the gateway reads all its records.
  savings: 10_000,
}
const MIN_PAUSE_MS = 50

const findTopics = (type: string): readonly string[] => TOPICS.find(([prefix]) => type.startsWith(prefix))?.[1] ?? []

/** Reads queries again when an event says that they changed, and all of them after a gap in the stream. */
export function refreshByEvents(client: QueryClient): void {
  const pending = new Set<string>()
  const refresh = (topic: string): void => {
    if (pending.has(topic)) return
    pending.add(topic)
    setTimeout(() => {
      pending.delete(topic)
      void client.invalidateQueries({ queryKey: [topic] })
    }, PAUSES[topic] ?? MIN_PAUSE_MS)
  }
  const onEvents = (events: readonly EventView[]): void => {
    const topics = new Set(events.flatMap(({ type }) => findTopics(type)))
    // A session rises by an event of its own: that has to be seen at once.
    if (events.some(({ type }) => type === 'SENSITIVITY_RAISED' || type === 'SESSION_ENDED'))
      void client.invalidateQueries({ queryKey: ['sessions'] })
    for (const topic of topics) refresh(topic)
  }
  const refreshAll = (): void => void client.invalidateQueries()
  eventStream.listen({
    onEvents,
    onReset: refreshAll,
    onLive: (live) => {
      client.setQueryData(liveQuery.queryKey, live)
      client.setQueryData(modeQuery.queryKey, live.mode)
      // The record of an answer is written before the call stops waiting, so it may have been read too early.
      const shown = client.getQueryData(approvalsQuery.queryKey)?.length ?? live.attention.approvals
      if (shown !== live.attention.approvals) refresh('approvals')
    },
  })
  let wasLost = false
  eventStream.onState(() => {
    if (eventStream.state === 'live' && wasLost) refreshAll()
    wasLost = eventStream.state === 'lost'
  })
}
