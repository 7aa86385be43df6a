import type { CallFacts, LoggedEvent } from '@sallyport/core'
import type { Explanation } from '../gateway/gateway-client.ts'

export type EventOfType<Type extends LoggedEvent['type']> = Extract<LoggedEvent, { type: Type }>

export type DecisionEvent = EventOfType<'TOOL_CALL_STARTED'> | EventOfType<'POLICY_DENIED'>
export type CallEndEvent = EventOfType<'TOOL_CALL_COMPLETED'> | EventOfType<'TOOL_CALL_FAILED'>

/** The records of one call, by their meaning. Some records of an old call may have been removed. */
export interface CallHistory {
  readonly id: string
  readonly trace: string
  readonly first: LoggedEvent & CallFacts
  /** The last decision: the rules may change while a call waits. */
  readonly decided: DecisionEvent | undefined
  readonly ended: CallEndEvent | undefined
  readonly asked: EventOfType<'APPROVAL_REQUESTED'> | undefined
  readonly answered: EventOfType<'APPROVAL_ANSWERED'> | undefined
  readonly expired: EventOfType<'APPROVAL_EXPIRED'> | undefined
  /** Questions that its server asked the client during the call. */
  readonly questions: readonly (EventOfType<'CLIENT_ASKED'> | EventOfType<'CLIENT_ANSWERED'>)[]
  /** What its server wanted to reach from a sandbox. */
  readonly connections: readonly EventOfType<'EGRESS_DECIDED'>[]
}

export function buildCallHistory({ call_id, trace_id, records }: Explanation['calls'][number]): CallHistory {
  const events = records as unknown as readonly LoggedEvent[]
  const last = <Type extends LoggedEvent['type']>(...types: readonly Type[]): EventOfType<Type> | undefined =>
    events.findLast((event): event is EventOfType<Type> => (types as readonly string[]).includes(event.type))
  return {
    id: call_id,
    trace: trace_id,
    first: events.find((event): event is CallHistory['first'] => 'tool_name' in event) as CallHistory['first'],
    decided: last('TOOL_CALL_STARTED', 'POLICY_DENIED'),
    ended: last('TOOL_CALL_COMPLETED', 'TOOL_CALL_FAILED'),
    asked: last('APPROVAL_REQUESTED'),
    answered: last('APPROVAL_ANSWERED'),
    expired: last('APPROVAL_EXPIRED'),
    questions: events.filter(
      (event): event is CallHistory['questions'][number] =>
        event.type === 'CLIENT_ASKED' || event.type === 'CLIENT_ANSWERED',
    ),
    connections: events.filter((event) => event.type === 'EGRESS_DECIDED'),
  }
}

export const millisecondsBetween = (from: LoggedEvent, to: LoggedEvent): number =>
  Math.max(0, Date.parse(to.time) - Date.parse(from.time))
