import { type Json, type RiskLevel, type RuleSource, redactJson } from '@sallyport/core'
import type { PendingApproval } from './approval.ts'

/** An approval request as it is shown to people and programs, wherever they answer. */
export interface ApprovalView {
  readonly id: string
  readonly user: string
  readonly agent: string
  readonly profile: string
  readonly session: string
  readonly server: string
  readonly tool: string
  readonly method: string
  /** All arguments as the server would get them, with keys and tokens redacted. */
  readonly arguments: Json
  readonly risk: RiskLevel
  readonly reason: string
  readonly rule?: RuleSource
  readonly requestedAt: string
  readonly expiresAt: string
  readonly callId: string
  readonly traceId: string
}

export function toApprovalView(approval: PendingApproval): ApprovalView {
  const { id, principal, server, tool, method, risk, reason, rule, callId, traceId } = approval
  const { user, agent, profile, session } = principal
  return {
    ...{ id, user, agent, profile, session, server, tool, method },
    arguments: redactJson(approval.arguments),
    ...{ risk, reason },
    ...(rule && { rule }),
    requestedAt: approval.requestedAt.toISOString(),
    expiresAt: approval.expiresAt.toISOString(),
    ...{ callId, traceId },
  }
}
