import {
  type CallFacts,
  type Decision,
  isJsonObject,
  type Json,
  type Principal,
  type ReturnedFacts,
  redactAndCut,
  redactText,
  type SallyportError,
  type SallyportEvent,
  type StepName,
  type StepVerdict,
  type ToolPolicy,
  type Verdict,
} from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import type { ShapingFacts } from '../isolation/isolation.ts'
import type { EventText, Recordable } from '../store/store.ts'
import type { CallEnd } from '../telemetry/telemetry.ts'
import { type Frame, parseFrame } from '../upstream/upstream.ts'
import type { Answer, Call } from './call.ts'
import type { JudgedCall } from './steps/call-decider.ts'

/** The records of one call: each says whose it was and what it was about. */
type CallIdentity = Pick<Call, 'id' | 'traceId' | 'principal' | 'method'> & {
  readonly offer: Pick<Call['offer'], 'server' | 'recordName' | 'isMcp'>
}

function toCallFacts({ id, traceId, principal, method, offer }: CallIdentity): CallFacts {
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

/** `facts`: as `formatFacts` prints them; `kept`: as much of the arguments as a record keeps. */
export function startedRecord(trial: JudgedCall, facts: string, kept?: Json): EventText {
  const given = kept === undefined ? '' : `,"arguments":${JSON.stringify(kept)}`
  return { members: `"type":"TOOL_CALL_STARTED",${facts},${formatDecision(trial)}${given}` }
}

export function deniedRecord(trial: JudgedCall, error: SallyportError, kept?: Json): SallyportEvent {
  const told = { error: error.code, message: redactText(error.message) }
  const given = kept === undefined ? {} : { arguments: kept }
  return { type: 'POLICY_DENIED', ...toCallFacts(trial.context.call), ...told, ...toDecisionFields(trial), ...given }
}

/** English text and JSON alike come to about four; other scripts to fewer. It is an estimate, and is named so. */
const BYTES_PER_TOKEN = 4

/** How a call came to its end, besides its answer. */
export interface EndDetails {
  /** As `formatFacts` prints them. */
  readonly facts: string
  readonly latency: number
  /** What of the result went back, where that was not all. */
  readonly returned?: ShapingFacts | undefined
}

export function endRecord(call: Call, answer: Answer, { facts, latency, returned }: EndDetails): Recordable {
  if (answer.kind === 'failure') return failedRecord(call, answer.error, { latency, returned })
  const bytes = returned?.bytesIn ?? answer.frame.envelope.bytes
  return completedRecord({ facts, success: isSuccess(answer), latency, bytes, returned })
}

export interface Completion extends EndDetails {
  readonly success: boolean
  readonly bytes: number
}

export function completedRecord({ facts, success, latency, bytes, returned }: Completion): EventText {
  const size = `"bytes":${bytes},"tokens_estimated":${Math.ceil(bytes / BYTES_PER_TOKEN)}`
  const outcome = `"success":${success},"latency_ms":${milliseconds(latency)},${size}`
  const back = returned === undefined ? '' : `,"returned":${JSON.stringify(returnedFacts(returned))}`
  return { members: `"type":"TOOL_CALL_COMPLETED",${facts},${outcome}${back}` }
}

function returnedFacts({ strategy, turns, handle, fellBack, ...figures }: ShapingFacts): ReturnedFacts {
  return {
    strategy,
    bytes: figures.bytesOut,
    tokens_kept: figures.tokensKept,
    ...(turns > 0 && { turns, tokens_in: figures.tokensIn, tokens_out: figures.tokensOut }),
    ...(handle !== undefined && { handle }),
    ...(fellBack !== undefined && { fell_back: fellBack }),
  }
}

function failedRecord(
  call: Call,
  error: SallyportError,
  { latency, returned }: Pick<EndDetails, 'latency' | 'returned'>,
): SallyportEvent {
  return {
    type: 'TOOL_CALL_FAILED',
    ...toCallFacts(call),
    error: error.code,
    message: redactText(error.message),
    latency_ms: milliseconds(latency),
    ...(returned && { bytes: returned.bytesIn, returned: returnedFacts(returned) }),
  }
}

/** What a server asked of the client during a call, and what came of it. The words of neither are kept. */
export function askedRecord(call: Call, method: string): SallyportEvent {
  return { type: 'CLIENT_ASKED', ...toCallFacts(call), method }
}

export function clientAnsweredRecord(
  call: Call,
  method: string,
  { success, latency }: Pick<Completion, 'success' | 'latency'>,
): SallyportEvent {
  return { type: 'CLIENT_ANSWERED', ...toCallFacts(call), method, success, latency_ms: milliseconds(latency) }
}

export type UnknownCall = Pick<Call, 'id' | 'traceId' | 'principal' | 'method'> & { readonly name: string }

export function unknownRecord({ name, ...asked }: UnknownCall, error: SallyportError): SallyportEvent {
  const offer = { server: '', recordName: redactAndCut(name, 300), isMcp: true }
  return {
    type: 'TOOL_CALL_FAILED',
    ...toCallFacts({ ...asked, offer }),
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

/** What all records of a call say of it: as `factsOf` prints, without the braces. */
export function formatFacts(call: Call): string {
  return `"call_id":${JSON.stringify(call.id)},"trace_id":${JSON.stringify(call.traceId)},${commonText(call)}`
}

function commonText(call: Call): string {
  const { principal, offer, method } = call
  const known = commonFacts.get(principal)?.get(offer)
  if (known?.method === method) return known.text
  const { call_id: _call, trace_id: _trace, ...common } = toCallFacts(call)
  const text = membersOf(common)
  const ofPrincipal = commonFacts.get(principal) ?? new WeakMap<Offer, CommonFacts>()
  commonFacts.set(principal, ofPrincipal.set(offer, { method, text }))
  return text
}

const decidedTexts = new WeakMap<Decision, string>()

function formatDecision(trial: JudgedCall): string {
  const known = decidedTexts.get(trial.decision)
  if (known !== undefined) return known
  const text = membersOf(toDecisionFields(trial))
  decidedTexts.set(trial.decision, text)
  return text
}

const membersOf = (value: object): string => JSON.stringify(value).slice(1, -1)

const milliseconds = (latency: number): number => Math.round(latency * 100) / 100

function toDecisionFields({ decision, context: { rules } }: JudgedCall) {
  const steps: Partial<Record<StepName, string>> = {}
  for (const { step, verdict } of decision.verdicts)
    steps[step] = verdict.outcome === 'allow' && verdict.reason ? redactText(verdict.reason) : verdict.outcome
  const { mode, policy } = rules
  const deciding = findDecisive(decision)
  const others = otherRules(decision, deciding)
  const would = findNotEnforced(decision)
  const approval = findApprovalId(decision)
  return {
    steps,
    ...(deciding && { decided_by: { step: deciding.step, ...reasonOf(deciding.verdict) } }),
    ...(others && { rules: others }),
    ...(would && { would }),
    ...{ mode, risk: policy.risk.value, risk_reason: riskReason(policy.risk) },
    ...(approval !== undefined && { approval }),
  }
}

/** The step that refused or asked; of what was allowed the last one that goes by a rule. */
const findDecisive = ({ verdicts, decisive: deciding }: Decision): StepVerdict | undefined =>
  deciding ?? verdicts.findLast(({ verdict }) => verdict.rule !== undefined)

const riskReason = ({ reason, rule }: ToolPolicy['risk']): string =>
  rule ? `${reason} at ${rule.file}:${rule.line}` : redactText(reason)

const reasonOf = ({ reason = '', rule }: Verdict) => ({ reason: redactText(reason), ...(rule && { rule }) })

function otherRules({ verdicts }: Decision, deciding: StepVerdict | undefined) {
  const ruled = verdicts.filter((said) => said !== deciding && said.verdict.rule !== undefined)
  if (ruled.length === 0) return undefined
  return Object.fromEntries(ruled.map(({ step, verdict }) => [step, verdict.rule]))
}

/** What enforcing the rules would have done. */
function findNotEnforced({ verdicts }: Decision) {
  const would = verdicts.flatMap(({ step, verdict }) =>
    verdict.outcome === 'allow' && verdict.would ? [{ step, verdict: verdict.would }] : [],
  )
  const worst = would.find(({ verdict }) => verdict.outcome === 'deny') ?? would[0]
  if (worst === undefined) return undefined
  const { step, verdict } = worst
  return {
    ...{ outcome: verdict.outcome, step },
    ...(verdict.outcome === 'deny' && { error: verdict.code }),
    ...reasonOf(verdict),
  }
}

const findApprovalId = ({ verdicts }: Decision): string | undefined =>
  verdicts.map(({ verdict }) => (verdict.outcome === 'allow' ? verdict.approval : undefined)).find(Boolean)

/** Of a larger error nobody needs to know the code so much. */
const MAX_ERROR_BYTES = 10_000

/** What those who watch get to know of an answer: nothing of its words. */
export function toCallEnd(answer: Answer): CallEnd {
  if (answer.kind === 'failure') return { outcome: 'failed', code: answer.error.code }
  const { envelope } = answer.frame
  const { bytes } = envelope
  if (envelope.error !== undefined) return { outcome: 'rpc_error', rpcCode: readRpcCode(answer.frame), bytes }
  return { outcome: envelope.isError ? 'tool_error' : 'success', bytes }
}

/** Whether the server refused the request itself, rather than that its tool failed. */
export const isRpcError = (answer: Answer): boolean =>
  answer.kind === 'frame' && answer.frame.envelope.error !== undefined

function isSuccess({ frame: { envelope } }: Extract<Answer, { kind: 'frame' }>): boolean {
  return envelope.result !== undefined && !envelope.isError
}

function readRpcCode(frame: Frame): number | undefined {
  if (frame.envelope.bytes > MAX_ERROR_BYTES) return undefined
  const { error } = parseFrame(frame)
  return isJsonObject(error) && Number.isInteger(error.code) ? (error.code as number) : undefined
}

/** Tells how the call ended before its answer leaves, also where a bug of ours ends it. */
export function reportEnd(answered: Promise<Answer>, tell: (end: CallEnd) => void): Promise<Answer> {
  return answered.then(
    (answer) => {
      tell(toCallEnd(answer))
      return answer
    },
    (error: unknown) => {
      tell({ outcome: 'failed', code: 'INTERNAL' })
      throw error
    },
  )
}
