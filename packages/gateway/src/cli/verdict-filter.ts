import type { EventType, LoggedEvent } from '@sallyport/core'

export const VERDICTS = ['allow', 'ask', 'deny', 'failed'] as const
export type VerdictName = (typeof VERDICTS)[number]

interface VerdictRule {
  readonly types: readonly EventType[]
  readonly matches: (event: LoggedEvent) => boolean
}

/** What each word means in records: `failed` is what was allowed and then went wrong, by the tool's word or its server's. */
export const VERDICT_RULES: Readonly<Record<VerdictName, VerdictRule>> = {
  allow: { types: ['TOOL_CALL_STARTED', 'TOOL_CALL_COMPLETED', 'TOOL_CALL_FAILED'], matches: () => true },
  ask: {
    types: ['POLICY_DENIED'],
    matches: (event) => event.type === 'POLICY_DENIED' && event.error === 'APPROVAL_REQUIRED',
  },
  deny: { types: ['POLICY_DENIED'], matches: () => true },
  failed: {
    types: ['TOOL_CALL_COMPLETED', 'TOOL_CALL_FAILED'],
    matches: (event) => event.type === 'TOOL_CALL_FAILED' || (event.type === 'TOOL_CALL_COMPLETED' && !event.success),
  },
}
