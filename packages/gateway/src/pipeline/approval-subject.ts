import { type JsonObject, redactJson } from '@sallyport/core'
import { type ApprovalSubject, computePin } from '../governance/governance.ts'
import type { Client } from '../upstream/upstream.ts'
import type { Call } from './call.ts'
import type { CallContext } from './steps/call-context.ts'
import type { JudgedCall } from './steps/call-decider.ts'

/** Why a call needs approval. */
export const approvalReason = ({ rules, checked }: CallContext): string =>
  checked.outcome === 'ask' && !rules.approval.value ? checked.reason : rules.approval.reason

/** The facts that a person is asked to approve, and to which the approval is bound. */
export function approvalSubject(subject: CallContext): ApprovalSubject {
  const { call, rules } = subject
  const { id, traceId, principal, method, offer, params } = call
  return {
    callId: id,
    traceId,
    principal,
    server: offer.server,
    method,
    tool: offer.recordName,
    isMcp: offer.isMcp,
    arguments: isToolCall(call) ? (params.arguments ?? {}) : withoutMeta(params),
    ...(call.written !== undefined && { written: call.written }),
    secrets: rules.policy.secrets.value,
    permission: rules.policy.permission.value,
    definition: computePin(offer),
    risk: rules.policy.risk.value,
    reason: approvalReason(subject),
    rule: rules.approval.rule,
  }
}

/** A request about a task of the tool has other parameters. */
const isToolCall = ({ method, offer }: Pick<Call, 'method' | 'offer'>): boolean =>
  offer.kind === 'tool' && method === 'tools/call'

const withoutMeta = ({ _meta, ...params }: JsonObject): JsonObject => params

/** The same for a call that would send private data out: who approves it has to know that. */
export function privateCallSubject(judged: JudgedCall): ApprovalSubject {
  const subject = approvalSubject(judged.context)
  const { reason, rule } = judged.decision.decisive?.verdict ?? subject
  const warning = `Private data may leave with this call. ${reason ?? ''} What would leave are the arguments that are shown.`
  return { ...subject, reason: warning, rule, isForPrivateData: true }
}

/**
 * The call with nothing but what a person is shown: whatever its client has put into `_meta`, beside the arguments, into
 * headers or into its own name would leave unread. Keys and tokens are not shown, so they are not sent either, although
 * the entry of the tool may allow them: anything can be written in the form of one.
 */
export function withoutUnshown(asked: Call): Call {
  const { client, params } = asked
  const { name, arguments: args } = params
  const own = { ...(name !== undefined && { name }), ...(args !== undefined && { arguments: redactJson(args) }) }
  return {
    ...asked,
    params: isToolCall(asked) ? own : (redactJson(withoutMeta(params)) as JsonObject),
    ...{ headers: undefined, trace: undefined, span: undefined, client: client && withoutName(client) },
  }
}

/** The same client as far as its server is concerned: somebody who cannot be asked anything. */
const withoutName = (client: Client): Client => ({
  ...{ era: client.era, logLevel: client.logLevel, answersInCall: client.answersInCall },
  ...{ capabilities: {}, clientInfo: undefined, conversation: undefined },
  ask: (question) => client.ask(question),
  notify: (notification) => client.notify(notification),
})
