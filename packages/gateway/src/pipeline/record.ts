import type { CallFacts, Decision, SallyportError, SallyportEvent, StepName } from '@sallyport/core'
import type { Call } from './call.ts'

/** The records of one call: each says whose it was and what it was about. */
type Asked = Pick<Call, 'id' | 'traceId' | 'principal' | 'method'> & {
  readonly offer: Pick<Call['offer'], 'server' | 'recordName' | 'isMcp'>
}

function factsOf({ id, traceId, principal, method, offer }: Asked): CallFacts {
  return {
    call_id: id,
    trace_id: traceId,
    user: principal.user,
    agent: principal.agent,
    profile: principal.profile,
    session: principal.session,
    server: offer.server,
    method,
    tool_name: offer.recordName,
    is_mcp: offer.isMcp,
  }
}

export function startedRecord(call: Call, decision: Decision): SallyportEvent {
  return { type: 'TOOL_CALL_STARTED', ...factsOf(call), ...decided(decision) }
}

export function deniedRecord(call: Call, decision: Decision, error: SallyportError): SallyportEvent {
  return { type: 'POLICY_DENIED', ...factsOf(call), error: error.code, message: error.message, ...decided(decision) }
}

export interface Completion {
  readonly success: boolean
  readonly latency: number
  readonly bytes: number
}

export function completedRecord(call: Call, { success, latency, bytes }: Completion): SallyportEvent {
  return { type: 'TOOL_CALL_COMPLETED', ...factsOf(call), success, latency_ms: milliseconds(latency), bytes }
}

export function failedRecord(call: Call, error: SallyportError, latency: number): SallyportEvent {
  return {
    type: 'TOOL_CALL_FAILED',
    ...factsOf(call),
    error: error.code,
    message: error.message,
    latency_ms: milliseconds(latency),
  }
}

/** What a server asked of the client during a call, and what came of it. The words of neither are kept. */
export function askedRecord(call: Call, method: string): SallyportEvent {
  return { type: 'CLIENT_ASKED', ...factsOf(call), method }
}

export function clientAnsweredRecord(
  call: Call,
  method: string,
  { success, latency }: Pick<Completion, 'success' | 'latency'>,
): SallyportEvent {
  return { type: 'CLIENT_ANSWERED', ...factsOf(call), method, success, latency_ms: milliseconds(latency) }
}

export type UnknownCall = Pick<Call, 'id' | 'traceId' | 'principal' | 'method'> & { readonly name: string }

export function unknownRecord({ name, ...asked }: UnknownCall, error: SallyportError): SallyportEvent {
  const offer = { server: '', recordName: name.slice(0, 300), isMcp: true }
  return {
    type: 'TOOL_CALL_FAILED',
    ...factsOf({ ...asked, offer }),
    error: error.code,
    message: error.message,
    latency_ms: 0,
  }
}

const milliseconds = (latency: number): number => Math.round(latency * 100) / 100

function decided({ verdicts, decisive }: Decision) {
  const steps: Partial<Record<StepName, string>> = {}
  for (const { step, verdict } of verdicts)
    steps[step] = verdict.outcome === 'allow' && verdict.reason ? verdict.reason : verdict.outcome
  if (!decisive) return { steps }
  const { step, verdict } = decisive
  return { steps, decided_by: { step, reason: verdict.reason ?? '', ...(verdict.rule && { rule: verdict.rule }) } }
}
