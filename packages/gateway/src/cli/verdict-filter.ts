import type { ErrorCode, EventType, LoggedEvent } from '@sallyport/core'

export const VERDICTS = ['allow', 'ask', 'approved', 'expired', 'deny', 'would-ask', 'would-deny', 'failed'] as const
export type VerdictName = (typeof VERDICTS)[number]

interface VerdictRule {
  readonly types: readonly EventType[]
  readonly matches: (event: LoggedEvent) => boolean
}

/**
 * What each word means in records: `failed` is what was allowed and then went wrong, by the tool's word or its server's;
 * `would-…` is what was allowed only because its rules are not enforced.
 */
export const VERDICT_RULES: Readonly<Record<VerdictName, VerdictRule>> = {
  allow: { types: ['TOOL_CALL_STARTED', 'TOOL_CALL_COMPLETED', 'TOOL_CALL_FAILED'], matches: () => true },
  ask: {
    types: ['APPROVAL_REQUESTED', 'POLICY_DENIED'],
    matches: (event) => event.type === 'APPROVAL_REQUESTED' || isRefusal(event, 'APPROVAL_REQUIRED'),
  },
  approved: {
    types: ['APPROVAL_ANSWERED'],
    matches: (event) => event.type === 'APPROVAL_ANSWERED' && event.answer !== 'deny',
  },
  expired: {
    types: ['APPROVAL_EXPIRED', 'POLICY_DENIED'],
    matches: (event) => event.type === 'APPROVAL_EXPIRED' || isRefusal(event, 'APPROVAL_EXPIRED'),
  },
  deny: {
    types: ['POLICY_DENIED', 'APPROVAL_ANSWERED'],
    matches: (event) =>
      event.type === 'POLICY_DENIED' || (event.type === 'APPROVAL_ANSWERED' && event.answer === 'deny'),
  },
  'would-ask': { types: ['TOOL_CALL_STARTED'], matches: (event) => wouldHave(event) === 'ask' },
  'would-deny': { types: ['TOOL_CALL_STARTED'], matches: (event) => wouldHave(event) === 'deny' },
  failed: {
    types: ['TOOL_CALL_COMPLETED', 'TOOL_CALL_FAILED'],
    matches: (event) => event.type === 'TOOL_CALL_FAILED' || (event.type === 'TOOL_CALL_COMPLETED' && !event.success),
  },
}

const wouldHave = (event: LoggedEvent): string | undefined =>
  event.type === 'TOOL_CALL_STARTED' ? event.would?.outcome : undefined

function isRefusal(event: LoggedEvent, error: ErrorCode): boolean {
  return event.type === 'POLICY_DENIED' && event.error === error
}
