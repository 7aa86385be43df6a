import type { CallFacts, Json, SallyportEvent } from '@sallyport/core'
import type { ApprovalSubject, EffectiveAnswer, PendingApproval } from './approval.ts'

function toCallFacts({ principal, ...subject }: ApprovalSubject): CallFacts {
  return {
    call_id: subject.callId,
    trace_id: subject.traceId,
    user: principal.user,
    agent: principal.agent,
    profile: principal.profile,
    session: principal.session,
    server: subject.server,
    method: subject.method,
    tool_name: subject.tool,
    is_mcp: subject.isMcp,
  }
}

export function requestedEvent(approval: PendingApproval, kept: Json | undefined): SallyportEvent {
  return {
    type: 'APPROVAL_REQUESTED',
    ...toCallFacts(approval),
    approval: approval.id,
    reason: approval.reason,
    risk: approval.risk,
    expires: approval.expiresAt.toISOString(),
    ...(approval.rule && { rule: approval.rule }),
    ...(kept !== undefined && { arguments: kept }),
  }
}

export function answeredEvent(approval: PendingApproval, counted: EffectiveAnswer): SallyportEvent {
  const { answer, by, via, why, unwritten } = counted
  const more = { ...(why !== undefined && { why }), ...(unwritten !== undefined && { unwritten }) }
  const said = { approval: approval.id, answer, by, via, ...more }
  return { type: 'APPROVAL_ANSWERED', ...toCallFacts(approval), ...said }
}

export const expiredEvent = (approval: PendingApproval, reason: string): SallyportEvent => ({
  ...{ type: 'APPROVAL_EXPIRED', ...toCallFacts(approval), approval: approval.id },
  reason,
})
