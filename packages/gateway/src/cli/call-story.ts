import type { CallFacts, LoggedEvent } from '@sallyport/core'
import type { Explanation } from './gateway-client.ts'

export type Kind<Type extends LoggedEvent['type']> = Extract<LoggedEvent, { type: Type }>

export type Decided = Kind<'TOOL_CALL_STARTED'> | Kind<'POLICY_DENIED'>
export type Ended = Kind<'TOOL_CALL_COMPLETED'> | Kind<'TOOL_CALL_FAILED'>

/** The records of one call by what they mean. Of an old one not all need be there any more. */
export interface CallStory {
  readonly id: string
  readonly trace: string
  readonly first: LoggedEvent & CallFacts
  /** What was decided at last: the rules may change while a call waits. */
  readonly decided: Decided | undefined
  readonly ended: Ended | undefined
  readonly asked: Kind<'APPROVAL_REQUESTED'> | undefined
  readonly answered: Kind<'APPROVAL_ANSWERED'> | undefined
  readonly expired: Kind<'APPROVAL_EXPIRED'> | undefined
  /** What its server asked of the client meanwhile. */
  readonly questions: readonly (Kind<'CLIENT_ASKED'> | Kind<'CLIENT_ANSWERED'>)[]
}

export function tellStory({ call_id, trace_id, records }: Explanation['calls'][number]): CallStory {
  const events = records as unknown as readonly LoggedEvent[]
  const last = <Type extends LoggedEvent['type']>(...types: readonly Type[]): Kind<Type> | undefined =>
    events.findLast((event): event is Kind<Type> => (types as readonly string[]).includes(event.type))
  return {
    id: call_id,
    trace: trace_id,
    first: events[0] as CallStory['first'],
    decided: last('TOOL_CALL_STARTED', 'POLICY_DENIED'),
    ended: last('TOOL_CALL_COMPLETED', 'TOOL_CALL_FAILED'),
    asked: last('APPROVAL_REQUESTED'),
    answered: last('APPROVAL_ANSWERED'),
    expired: last('APPROVAL_EXPIRED'),
    questions: events.filter(
      (event): event is CallStory['questions'][number] =>
        event.type === 'CLIENT_ASKED' || event.type === 'CLIENT_ANSWERED',
    ),
  }
}

export const between = (from: LoggedEvent, to: LoggedEvent): number =>
  Math.max(0, Date.parse(to.time) - Date.parse(from.time))
