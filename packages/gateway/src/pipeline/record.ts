import {
  type CallFacts,
  cutRedacted,
  type Decision,
  type Principal,
  redactText,
  type SallyportError,
  type SallyportEvent,
  type StepName,
} from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import type { EventText } from '../store/store.ts'
import type { Call } from './call.ts'
import type { Trial } from './judge.ts'

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
    // A URI may carry a login.
    tool_name: redactText(offer.recordName),
    is_mcp: offer.isMcp,
  }
}

export function startedRecord(trial: Trial): EventText {
  const { call, grant } = trial.case
  const approval = grant ? `,"approval":${JSON.stringify(grant.approval)}` : ''
  return { members: `"type":"TOOL_CALL_STARTED",${factsText(call)},${decidedText(trial)}${approval}` }
}

export function deniedRecord(trial: Trial, error: SallyportError): SallyportEvent {
  const told = { error: error.code, message: redactText(error.message) }
  return { type: 'POLICY_DENIED', ...factsOf(trial.case.call), ...told, ...decided(trial) }
}

export interface Completion {
  readonly success: boolean
  readonly latency: number
  readonly bytes: number
}

export function completedRecord(call: Call, { success, latency, bytes }: Completion): EventText {
  const outcome = `"success":${success},"latency_ms":${milliseconds(latency)},"bytes":${bytes}`
  return { members: `"type":"TOOL_CALL_COMPLETED",${factsText(call)},${outcome}` }
}

export function failedRecord(call: Call, error: SallyportError, latency: number): SallyportEvent {
  return {
    type: 'TOOL_CALL_FAILED',
    ...factsOf(call),
    error: error.code,
    message: redactText(error.message),
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
  const offer = { server: '', recordName: cutRedacted(name, 300), isMcp: true }
  return {
    type: 'TOOL_CALL_FAILED',
    ...factsOf({ ...asked, offer }),
    error: error.code,
    message: redactText(error.message),
    latency_ms: 0,
  }
}

interface CommonFacts {
  readonly method: string
  readonly text: string
}

/** What all calls of one caller to one offer say alike: printing it anew would cost most of their records. */
const commonFacts = new WeakMap<Principal, WeakMap<Offer, CommonFacts>>()

/** As `factsOf` prints, without the braces. */
function factsText(call: Call): string {
  return `"call_id":${JSON.stringify(call.id)},"trace_id":${JSON.stringify(call.traceId)},${commonText(call)}`
}

function commonText(call: Call): string {
  const { principal, offer, method } = call
  const known = commonFacts.get(principal)?.get(offer)
  if (known?.method === method) return known.text
  const { call_id: _call, trace_id: _trace, ...common } = factsOf(call)
  const text = membersOf(common)
  const ofPrincipal = commonFacts.get(principal) ?? new WeakMap<Offer, CommonFacts>()
  commonFacts.set(principal, ofPrincipal.set(offer, { method, text }))
  return text
}

const decidedTexts = new WeakMap<Decision, string>()

function decidedText(trial: Trial): string {
  const known = decidedTexts.get(trial.decision)
  if (known !== undefined) return known
  const text = membersOf(decided(trial))
  decidedTexts.set(trial.decision, text)
  return text
}

const membersOf = (value: object): string => JSON.stringify(value).slice(1, -1)

const milliseconds = (latency: number): number => Math.round(latency * 100) / 100

function decided({ decision, case: { rules } }: Trial) {
  const steps: Partial<Record<StepName, string>> = {}
  for (const { step, verdict } of decision.verdicts)
    steps[step] = verdict.outcome === 'allow' && verdict.reason ? verdict.reason : verdict.outcome
  const { mode, policy } = rules
  const by = decisive(decision)
  const would = watchedOnly(decision)
  return { steps, ...(by && { decided_by: by }), ...(would && { would }), mode, risk: policy.risk.value }
}

/** The step that refused or asked; of what was allowed the last one that goes by a rule. */
function decisive({ verdicts, decisive: deciding }: Decision) {
  const found = deciding ?? verdicts.findLast(({ verdict }) => verdict.rule !== undefined)
  if (!found) return undefined
  const { step, verdict } = found
  return { step, reason: redactText(verdict.reason ?? ''), ...(verdict.rule && { rule: verdict.rule }) }
}

/** What enforcing the rules would have done. */
function watchedOnly({ verdicts }: Decision) {
  const would = verdicts.flatMap(({ verdict }) => (verdict.outcome === 'allow' && verdict.would ? [verdict.would] : []))
  const worst = would.find(({ outcome }) => outcome === 'deny') ?? would[0]
  return worst && { outcome: worst.outcome, ...(worst.outcome === 'deny' && { error: worst.code }) }
}
