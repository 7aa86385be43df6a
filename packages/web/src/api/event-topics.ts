import type { QueryClient } from '@tanstack/react-query'
import type { EventView } from '../../../gateway/src/serve/api/api.ts'
import { eventStream } from './event-stream.ts'

/** Which queries an event makes stale, by the first part of their keys. */
const TOPICS: readonly (readonly [prefix: string, topics: readonly string[]])[] = [
  ['APPROVAL_', ['approvals']],
  ['MODE_CHANGED', ['mode', 'status', 'tools', 'approvals']],
  ['UPSTREAM_', ['servers', 'status', 'tools']],
  ['CONFIG_', ['servers', 'status', 'tools', 'agents', 'settings']],
  ['COUNTERPART_', ['servers']],
  ['TOOLS_', ['tools', 'offers', 'tools-file', 'status', 'servers', 'agents']],
  ['PIN_CHANGED', ['tools', 'offers', 'tools-file']],
  ['DEFINITION_', ['tools', 'offers', 'status']],
  ['FINDINGS_', ['tools', 'offers', 'status']],
  ['PROFILES_CHANGED', ['profiles', 'agents']],
  ['TOKEN_', ['tokens']],
  ['SENSITIVITY_', ['sessions']],
  ['SESSION_', ['sessions']],
  ['SANDBOX_', ['sessions']],
  ['TOOL_CALL_', ['calls', 'savings', 'sessions']],
  ['POLICY_DENIED', ['calls', 'sessions']],
]

/** What changes with every call is read again only after a pause. */
const SLOW_TOPICS: ReadonlySet<string> = new Set(['calls', 'savings', 'sessions'])
const SLOW_MS = 3_000
const FAST_MS = 50

const findTopics = (type: string): readonly string[] => TOPICS.find(([prefix]) => type.startsWith(prefix))?.[1] ?? []

/** Reads queries again when an event says that they changed, and all of them after a gap in the stream. */
export function refreshByEvents(client: QueryClient): void {
  const pending = new Set<string>()
  const refresh = (topic: string): void => {
    if (pending.has(topic)) return
    pending.add(topic)
    const wait = SLOW_TOPICS.has(topic) ? SLOW_MS : FAST_MS
    setTimeout(() => {
      pending.delete(topic)
      void client.invalidateQueries({ queryKey: [topic] })
    }, wait)
  }
  eventStream.onEvents((events: readonly EventView[]) => {
    const topics = new Set(events.flatMap(({ type }) => findTopics(type)))
    // A session rises by an event of its own: that has to be seen at once.
    if (events.some(({ type }) => type === 'SENSITIVITY_RAISED' || type === 'SESSION_ENDED'))
      void client.invalidateQueries({ queryKey: ['sessions'] })
    for (const topic of topics) refresh(topic)
  })
  let wasLost = false
  eventStream.onState(() => {
    if (eventStream.state === 'live' && wasLost) void client.invalidateQueries()
    wasLost = eventStream.state === 'lost'
  })
}
