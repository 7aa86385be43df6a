import type { LoggedEvent } from '@sallyport/core'
import type { CliContext } from './cli-context.ts'
import type { EventQuery } from './gateway-client.ts'
import { parseTimestamp } from './moment.ts'
import { VERDICT_RULES, VERDICTS, type VerdictName } from './verdict-filter.ts'

/** Which records are meant. */
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
  until: timeFlag('Not after, written alike'),
  agent: textFlag('name', 'Of this agent'),
  session: textFlag('id', 'Of this session'),
  server: textFlag('name', 'Of this server'),
  tool: textFlag('name', 'Of the tool with this name, or of those that a glob fits: clock/*'),
  type: textFlag('types', 'Of these types, with commas between: TOOL_CALL_FAILED, UPSTREAM_LOST, …'),
  verdict: { kind: 'enum', values: VERDICTS, optional: true, brief: 'Calls with this verdict' },
  trace: textFlag('id', 'Of this trace'),
} as const

/** What the API can be asked; `createVerdictFilter` judges what it answers. */
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
