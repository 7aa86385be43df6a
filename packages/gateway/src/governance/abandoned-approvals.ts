import type { LoggedEvent, SallyportEvent } from '@sallyport/core'
import type { Store } from '../store/store.ts'

type Requested = Extract<LoggedEvent, { type: 'APPROVAL_REQUESTED' }>
type Expired = Extract<SallyportEvent, { type: 'APPROVAL_EXPIRED' }>

/** More than all requests that can be pending at once, plus those that are answered while one waits. */
const MAX_EVENTS_READ = 10_000

/** Creates the end events of requests that were pending when an earlier gateway was killed. Nothing else would end them. */
export async function findAbandonedApprovals(store: Pick<Store, 'find'>): Promise<readonly Expired[]> {
  const [started] = await store.find({ types: ['GATEWAY_STARTED'], limit: 1 })
  const types = ['APPROVAL_REQUESTED', 'APPROVAL_ANSWERED', 'APPROVAL_EXPIRED'] as const
  const events = await store.find({ types, limit: MAX_EVENTS_READ })
  const open = new Map<string, Requested>()
  // Requests of this gateway itself may still be answered.
  for (const event of events.filter(({ seq }) => seq < (started?.seq ?? 0))) {
    if (event.type === 'APPROVAL_REQUESTED') open.set(event.approval, event)
    else if ('approval' in event && event.approval !== undefined) open.delete(event.approval)
  }
  return [...open.values()].map(toExpired)
}

function toExpired(event: Requested): Expired {
  const { call_id, trace_id, user, agent, profile, session, server, method, tool_name, is_mcp, approval } = event
  const reason = 'The gateway ended before the end of this request was recorded.'
  const facts = { call_id, trace_id, user, agent, profile, session, server, method, tool_name, is_mcp }
  return { type: 'APPROVAL_EXPIRED', ...facts, approval, reason }
}
