import type { ApprovalSubject } from '../governance/governance.ts'
import { pinOf } from '../governance/governance.ts'
import type { Case } from './case.ts'

/** What somebody is asked about, and what an approval is bound to. */
export function approvalSubject({ call, rules }: Case): ApprovalSubject {
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
    reason: rules.approval.reason,
    rule: rules.approval.rule,
  }
}
