import { type ApprovalSubject, pinOf } from '../governance/governance.ts'
import type { CallContext } from './steps/call-context.ts'
import type { JudgedCall } from './steps/call-decider.ts'

/** Why a call needs approval. */
export const approvalReason = ({ rules, checked }: CallContext): string =>
  checked.outcome === 'ask' && !rules.approval.value ? checked.reason : rules.approval.reason

/** The facts that a person is asked to approve, and to which the approval is bound. */
export function approvalSubject(subject: CallContext): ApprovalSubject {
  const { call, rules } = subject
  const { id, traceId, principal, method, offer, params } = call
  const { _meta, ...asked } = params
  return {
    callId: id,
    traceId,
    principal,
    server: offer.server,
    method,
    tool: offer.recordName,
    isMcp: offer.isMcp,
    arguments: offer.kind === 'tool' ? (params.arguments ?? {}) : asked,
    definition: pinOf(offer),
    risk: rules.policy.risk.value,
    reason: approvalReason(subject),
    rule: rules.approval.rule,
  }
}

/** The same for a call that would send private data out: who approves it has to know that. */
export function privateCallSubject(judged: JudgedCall): ApprovalSubject {
  const subject = approvalSubject(judged.context)
  const { reason, rule } = judged.decision.decisive?.verdict ?? subject
  const warning = `Private data may leave with this call. ${reason ?? ''} What would leave are the arguments that are shown.`
  return { ...subject, reason: warning, rule, isForPrivateData: true }
}
