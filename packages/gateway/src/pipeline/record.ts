import {
  type CallFacts,
  type Decision,
  isJsonObject,
  type Json,
  LOWEST_SENSITIVITY,
  type Principal,
  type ReturnedFacts,
  redactAndCut,
  redactText,
  type SallyportError,
  type SallyportEvent,
  type Sensitivity,
  type ServerInstance,
  type StepName,
  type StepVerdict,
  type ToolPolicy,
  type Verdict,
} from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import { PUBLIC_LABEL, type SessionLabel } from '../governance/governance.ts'
import type { ShapingFacts } from '../isolation/isolation.ts'
import type { EventText, Recordable } from '../store/store.ts'
import type { CallEnd } from '../telemetry/telemetry.ts'
import { type Frame, parseFrame } from '../upstream/upstream.ts'
import type { Answer, Call } from './call.ts'
import type { JudgedCall } from './steps/call-decider.ts'

/** What every record of a call contains: who called what. */
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
    // A URI may contain a password.
    tool_name: redactText(offer.recordName),
    is_mcp: offer.isMcp,
  }
}

/** `facts`: the output of `formatFacts`; `recorded`: the part of the arguments that is recorded. */
export function startedRecord(judged: JudgedCall, facts: string, recorded?: Json): EventText {
  const given = recorded === undefined ? '' : `,"arguments":${JSON.stringify(recorded)}`
  const took = `"decided_ms":${thousandths(judged.took)}`
  return { members: `"type":"TOOL_CALL_STARTED",${facts},${formatDecision(judged)},${took}${given}` }
}

export function deniedRecord(judged: JudgedCall, error: SallyportError, recorded?: Json): SallyportEvent {
  const refusal = { error: error.code, message: redactText(error.message) }
  const given = recorded === undefined ? {} : { arguments: recorded }
  return {
    type: 'POLICY_DENIED',
    ...toCallFacts(judged.context.call),
    ...refusal,
    ...toDecisionFields(judged),
    decided_ms: thousandths(judged.took),
    ...given,
  }
}

/** About right for English text and JSON; other scripts have fewer. The field is named as an estimate. */
const BYTES_PER_TOKEN = 4

/** Details about the end of a call, besides its answer. */
export interface EndDetails {
  /** The output of `formatFacts`. */
  readonly facts: string
  readonly latency: number
  /** How long its server had it; `undefined` if it was not sent. */
  readonly serverTook?: number | undefined
  /** How the result was shaped; `undefined` if it was returned in full. */
  readonly returned?: ShapingFacts | undefined
  /** The label of the session now; `undefined` if it is PUBLIC. */
  readonly label?: SessionLabel | undefined
  /** The instance that got the call, for a server that has two. */
  readonly instance?: ServerInstance | undefined
  /** It was sent a second time, because its server had forgotten the session. */
  readonly resent?: boolean | undefined
}

export function endRecord(call: Call, answer: Answer, details: EndDetails): Recordable {
  if (answer.kind === 'failure') return failedRecord(call, answer.error, details)
  return completedRecord({
    // Written out: every call passes here, and spreading costs more than all the rest of the record.
    facts: details.facts,
    latency: details.latency,
    serverTook: details.serverTook,
    returned: details.returned,
    label: details.label,
    instance: details.instance,
    resent: details.resent,
    success: isSuccess(answer),
    bytes: details.returned?.bytesIn ?? answer.frame.envelope.bytes,
  })
}

export interface Completion extends EndDetails {
  readonly success: boolean
  readonly bytes: number
}

export function completedRecord(completion: Completion): EventText {
  const { facts, success, latency, serverTook, bytes, returned, label, instance, resent } = completion
  const size = `"bytes":${bytes},"tokens_estimated":${Math.ceil(bytes / BYTES_PER_TOKEN)}`
  const server = serverTook === undefined ? '' : `"server_ms":${milliseconds(serverTook)},`
  const outcome = `"success":${success},"latency_ms":${milliseconds(latency)},${server}${size}`
  const back = returned === undefined ? '' : `,"returned":${JSON.stringify(returnedFacts(returned))}`
  const after = label === undefined || label === PUBLIC_LABEL ? '' : `,"label_after":"${label.sensitivity}"`
  const where = instance === undefined ? '' : `,"instance":"${instance}"`
  const again = resent ? ',"resent":true' : ''
  return { members: `"type":"TOOL_CALL_COMPLETED",${facts},${outcome}${back}${after}${where}${again}` }
}

function returnedFacts({ strategy, turns, handle, fellBack, ...sizes }: ShapingFacts): ReturnedFacts {
  return {
    strategy,
    bytes: sizes.bytesOut,
    tokens_kept: sizes.tokensKept,
    ...(turns > 0 && { turns, tokens_in: sizes.tokensIn, tokens_out: sizes.tokensOut }),
    ...(handle !== undefined && { handle }),
    ...(fellBack !== undefined && { fell_back: fellBack }),
  }
}

function failedRecord(
  call: Call,
  error: SallyportError,
  { latency, serverTook, returned, label, instance, resent }: Omit<EndDetails, 'facts'>,
): SallyportEvent {
  return {
    type: 'TOOL_CALL_FAILED',
    ...toCallFacts(call),
    error: error.code,
    message: redactText(error.message),
    latency_ms: milliseconds(latency),
    ...(serverTook !== undefined && { server_ms: milliseconds(serverTook) }),
    ...(returned && { bytes: returned.bytesIn, returned: returnedFacts(returned) }),
    ...(label && labelFacts('label_after', label)),
    ...(instance && { instance }),
    ...(resent && { resent }),
  }
}

const labelFacts = (name: 'label_before' | 'label_after', { sensitivity }: SessionLabel) =>
  sensitivity === LOWEST_SENSITIVITY ? {} : { [name]: sensitivity }

/** Records that a server asked the client something during a call. The texts of question and answer are not recorded. */
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

/** The facts that all calls of one caller to one offer share. Serializing them again would be most of the cost of a record. */
const commonFacts = new WeakMap<Principal, WeakMap<Offer, CommonFacts>>()

/** The facts in all records of a call: the JSON of `toCallFacts`, without the braces. */
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

/** By decision, for each label: the label step gives the same decision for labels that it treats alike. */
const decidedTexts = new WeakMap<Decision, { readonly sensitivity: Sensitivity; readonly text: string }>()

function formatDecision(judged: JudgedCall): string {
  const { sensitivity } = judged.context.label
  const known = decidedTexts.get(judged.decision)
  if (known?.sensitivity === sensitivity) return known.text
  const text = membersOf(toDecisionFields(judged))
  decidedTexts.set(judged.decision, { sensitivity, text })
  return text
}

const membersOf = (value: object): string => JSON.stringify(value).slice(1, -1)

const milliseconds = (latency: number): number => Math.round(latency * 100) / 100

/** Most decisions take some microseconds. */
const thousandths = (latency: number): number => Math.round(latency * 1_000) / 1_000

function toDecisionFields({ decision, context: { rules, label } }: JudgedCall) {
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
    ...labelFacts('label_before', label),
    ...{ mode, risk: policy.risk.value, risk_reason: riskReason(policy.risk) },
    ...(approval !== undefined && { approval }),
  }
}

/** The step that refused or asked. For an allowed call, the last step that followed a rule. */
const findDecisive = ({ verdicts, decisive }: Decision): StepVerdict | undefined =>
  decisive ?? verdicts.findLast(({ verdict }) => verdict.rule !== undefined)

const riskReason = ({ reason, rule }: ToolPolicy['risk']): string =>
  rule ? `${reason} at ${rule.file}:${rule.line}` : redactText(reason)

const reasonOf = ({ reason = '', rule }: Verdict) => ({ reason: redactText(reason), ...(rule && { rule }) })

function otherRules({ verdicts }: Decision, deciding: StepVerdict | undefined) {
  const ruled = verdicts.filter((other) => other !== deciding && other.verdict.rule !== undefined)
  if (ruled.length === 0) return undefined
  return Object.fromEntries(ruled.map(({ step, verdict }) => [step, verdict.rule]))
}

/** The verdict that the rules would have given if they were enforced. */
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

/** A larger error is not parsed just for its code. */
const MAX_ERROR_BYTES = 10_000

/** The outcome of a call for observers, without any text of the answer. */
export function toCallEnd(answer: Answer): CallEnd {
  if (answer.kind === 'failure') return { outcome: 'failed', code: answer.error.code }
  const { envelope } = answer.frame
  const { bytes } = envelope
  if (envelope.error !== undefined) return { outcome: 'rpc_error', rpcCode: readRpcCode(answer.frame), bytes }
  return { outcome: envelope.isError ? 'tool_error' : 'success', bytes }
}

/** Whether the server refused the request itself, which is different from a failed tool. */
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

/** Reports the end of a call before its answer is sent, also if a bug in the gateway ended it. */
export function reportEnd(answered: Promise<Answer>, report: (end: CallEnd) => void): Promise<Answer> {
  return answered.then(
    (answer) => {
      report(toCallEnd(answer))
      return answer
    },
    (error: unknown) => {
      report({ outcome: 'failed', code: 'INTERNAL' })
      throw error
    },
  )
}
