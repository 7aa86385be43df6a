import {
  isMode,
  type Json,
  type LoggedEvent,
  type Mode,
  type Principal,
  type Sensitivity,
  type Verdict,
} from '@sallyport/core'

type Kind<Type extends LoggedEvent['type']> = Extract<LoggedEvent, { type: Type }>

/** The record of a decision. */
export type DecisionRecord = Kind<'TOOL_CALL_STARTED'> | Kind<'POLICY_DENIED'>

/** A call that was decided earlier, as its record describes it. */
export interface RecordedCall {
  readonly callId: string
  readonly server: string
  readonly method: string
  readonly toolName: string
  readonly principal: Principal
  readonly mode: Mode
  /** `undefined`: PUBLIC. */
  readonly label: Sensitivity | undefined
  readonly arguments: Json | undefined
  readonly outcome: Verdict['outcome']
  readonly steps: DecisionRecord['steps']
  readonly error: Kind<'POLICY_DENIED'>['error'] | undefined
}

export function readRecordedCall(record: DecisionRecord): RecordedCall {
  const { call_id, server, method, tool_name, user, agent, profile, session, mode, steps } = record
  return {
    callId: call_id,
    server,
    method,
    toolName: tool_name,
    principal: { user, agent, profile, session, role: 'agent' },
    mode: isMode(mode) ? mode : 'NORMAL',
    label: record.label_before,
    arguments: record.arguments,
    outcome: inferOutcome(record),
    steps: steps ?? {},
    error: record.type === 'POLICY_DENIED' ? record.error : undefined,
  }
}

/** The decision of the rules, without the answer of a person. */
function inferOutcome(record: DecisionRecord): Verdict['outcome'] {
  const verdicts = Object.values(record.steps ?? {})
  if (verdicts.includes('deny') || (verdicts.length === 0 && record.type === 'POLICY_DENIED')) return 'deny'
  // A call that a server refused by its own rules was allowed by ours.
  return verdicts.includes('ask') || record.approval !== undefined ? 'ask' : 'allow'
}
