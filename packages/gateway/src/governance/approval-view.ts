import { type Json, type Permission, type RiskLevel, type RuleSource, redactJson, sameJson } from '@sallyport/core'
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
  /** What the agent wrote, redacted too, if that differs from `arguments`. */
  readonly written?: Json
  /** Missing if `arguments` has no keys and tokens. `removed`: they are not sent either; `hidden`: they are sent. */
  readonly secrets?: 'removed' | 'hidden'
  readonly permission: readonly Permission[]
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
  const shown = redactJson(approval.arguments)
  return {
    ...{ id, user, agent, profile, session, server, tool, method },
    arguments: shown,
    ...(approval.written !== undefined && { written: redactJson(approval.written) }),
    ...(!sameJson(shown, approval.arguments) && { secrets: isSent(approval) ? 'hidden' : 'removed' }),
    ...{ permission: approval.permission, risk, reason },
    ...(rule && { rule }),
    requestedAt: approval.requestedAt.toISOString(),
    expiresAt: approval.expiresAt.toISOString(),
    ...{ callId, traceId },
  }
}

/** Of a call that may send private data out, only what a person has read is sent. */
const isSent = ({ secrets, isForPrivateData }: PendingApproval): boolean =>
  secrets !== 'redact' && isForPrivateData !== true
