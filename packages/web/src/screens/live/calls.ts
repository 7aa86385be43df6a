import type { EventView } from '../../../../gateway/src/serve/api/api.ts'
import type { VerdictKind } from '../../parts/signs.tsx'

/** A line of the stream: a call with what is known of it, or another event. */
export interface LiveCall {
  readonly id: string
  readonly time: string
  readonly kind: VerdictKind
  readonly agent: string
  readonly name: string
  readonly why: string
  readonly rule?: { readonly file: string; readonly line: number } | undefined
  readonly ms?: number
  readonly kept?: number
}

const MAX_CALLS = 2_000

/** Adds events to the calls, newest first. Only the newest calls stay. */
export function addEvents(calls: readonly LiveCall[], events: readonly EventView[]): readonly LiveCall[] {
  const known = new Map(calls.map((call) => [call.id, call]))
  const added: string[] = []
  for (const event of events) {
    const next = toCall(event, known)
    if (next === undefined) continue
    if (!known.has(next.id)) added.push(next.id)
    known.set(next.id, next)
  }
  const order = [...added.reverse(), ...calls.map(({ id }) => id)].slice(0, MAX_CALLS)
  return order.map((id) => known.get(id) as LiveCall)
}

function toCall(event: EventView, known: ReadonlyMap<string, LiveCall>): LiveCall | undefined {
  switch (event.type) {
    case 'TOOL_CALL_STARTED': {
      const before = known.get(event.call_id)
      const { would } = event
      if (would) return { ...begin(event), kind: 'would', why: would.reason, rule: would.rule }
      return { ...begin(event), kind: 'running', why: before?.kind === 'ask' ? 'approved' : '', rule: before?.rule }
    }
    case 'TOOL_CALL_COMPLETED': {
      const before = known.get(event.call_id) ?? { ...begin(event), kind: 'running' as const, why: '' }
      const kind = before.kind === 'would' ? 'would' : event.success ? 'allow' : 'failed'
      const why = event.success ? before.why : 'the tool answered with an error'
      return { ...before, kind, why, ms: event.latency_ms, ...(event.returned && { kept: event.returned.tokens_kept }) }
    }
    case 'TOOL_CALL_FAILED':
      return { ...(known.get(event.call_id) ?? begin(event)), kind: 'failed', why: event.message, ms: event.latency_ms }
    case 'POLICY_DENIED':
      return {
        ...begin(event),
        kind: 'deny',
        why: event.decided_by?.reason ?? event.message,
        rule: event.decided_by?.rule,
      }
    case 'APPROVAL_REQUESTED':
      return { ...begin(event), kind: 'ask', why: `waits: ${event.reason}`, rule: event.rule }
    case 'APPROVAL_EXPIRED':
      return { ...begin(event), kind: 'expired', why: event.reason }
    default:
      return undefined
  }
}

type CallEvent = Extract<EventView, { readonly call_id: string; readonly method: string }>

const begin = ({ call_id, time, agent, server, tool_name }: CallEvent) => ({
  id: call_id,
  time,
  agent,
  name: toShortName(server, tool_name),
})

function toShortName(server: string, name: string): string {
  const prefix = `mcp__${server}__`
  return name.startsWith(prefix) ? `${server}/${name.slice(prefix.length)}` : name
}
