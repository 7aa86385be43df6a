import type { ErrorCode, EventType, LoggedEvent } from '@sallyport/core'
import type { CliContext } from '../cli-context.ts'
import type { EventQuery } from '../gateway/gateway-client.ts'
import { parseTimestamp } from '../terminal/timestamp.ts'

const VERDICTS = ['allow', 'ask', 'approved', 'expired', 'deny', 'would-ask', 'would-deny', 'failed'] as const
type VerdictName = (typeof VERDICTS)[number]

interface VerdictRule {
  readonly types: readonly EventType[]
  readonly matches: (event: LoggedEvent) => boolean
}

/**
 * What each verdict means in the records: `failed` was allowed, and then its tool or server reported an error;
 * `would-…` was allowed only because its rules are not enforced.
 */
const VERDICT_RULES: Readonly<Record<VerdictName, VerdictRule>> = {
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

/** Selects records. */
export interface AuditFilter {
  readonly since?: Date
  readonly until?: Date
  readonly agent?: string
  readonly session?: string
  readonly server?: string
  readonly tool?: string
  readonly type?: string
  readonly verdict?: VerdictName
  readonly trace?: string
}

const textFlag = (placeholder: string, brief: string) =>
  ({ kind: 'parsed', parse: String, optional: true, placeholder, brief }) as const

const timeFlag = (brief: string) =>
  ({
    kind: 'parsed',
    parse(this: CliContext, typed: string) {
      return parseTimestamp(typed, this.now())
    },
    optional: true,
    placeholder: 'time',
    brief,
  }) as const

export const FILTER_FLAGS = {
  since: timeFlag('Not before: 15m, 1h, 7d ago, or 2026-05-01T10:00:00Z'),
  until: timeFlag('Not after, in the same format'),
  agent: textFlag('name', 'Of this agent'),
  session: textFlag('id', 'Of this session'),
  server: textFlag('name', 'Of this server'),
  tool: textFlag('name', 'Of the tool with this name, or of tools that match a glob: clock/*'),
  type: textFlag('types', 'Of these types, separated by commas: TOOL_CALL_FAILED, UPSTREAM_LOST, …'),
  verdict: { kind: 'enum', values: VERDICTS, optional: true, brief: 'Calls with this verdict' },
  trace: textFlag('id', 'Of this trace'),
} as const

/** The part of the filter that the API supports; `createVerdictFilter` filters its answer. */
export function toEventQuery({ since, until, verdict, type, ...filter }: AuditFilter): EventQuery {
  const { agent, session, server, tool, trace } = filter
  const fields = {
    since: since?.toISOString(),
    until: until?.toISOString(),
    ...{ agent, session, server, tool, trace },
    type: type ?? (verdict && VERDICT_RULES[verdict].types.join(',')),
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

export function createVerdictFilter({ verdict }: AuditFilter): (event: LoggedEvent) => boolean {
  if (verdict === undefined) return () => true
  const { types, matches } = VERDICT_RULES[verdict]
  return (event) => types.includes(event.type) && matches(event)
}
