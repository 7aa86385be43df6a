import { type ApprovalSubject, pinOf } from '../governance/governance.ts'
import type { CallContext } from './steps/call-context.ts'

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
