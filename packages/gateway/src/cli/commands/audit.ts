import { SallyportError } from '@sallyport/core'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import { EVENT_COLUMNS, eventLine } from '../event-line.ts'
import { stateOf } from '../find-home.ts'
import { followEvents } from '../follow-events.ts'
import type { EventQuery, EventView } from '../gateway-client.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { parseMoment } from '../moment.ts'
import { withRecords } from '../reach-gateway.ts'
import { createScreen } from '../screen.ts'
import { VERDICT_RULES, VERDICTS, type VerdictName } from '../verdict-filter.ts'

interface AuditFlags {
  readonly since?: Date
  readonly until?: Date
  readonly agent?: string
  readonly session?: string
  readonly server?: string
  readonly tool?: string
  readonly type?: string
  readonly verdict?: VerdictName
  readonly trace?: string
  readonly limit?: number
  readonly follow?: boolean
}

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 10_000

const text = (placeholder: string, brief: string) =>
  ({ kind: 'parsed', parse: String, optional: true, placeholder, brief }) as const

const moment = (brief: string) =>
  ({
    kind: 'parsed',
    parse(this: CliContext, typed: string) {
      return parseMoment(typed, this.now())
    },
    optional: true,
    placeholder: 'time',
    brief,
  }) as const

export const auditCommand = defineCommand<AuditFlags>({
  brief: 'Show what happened: calls, refusals, servers that came and went',
  description: 'The newest records, oldest first; JSON lines with --json. `explain` says more about one call.',
  examples: [
    ['audit', 'The newest 50 records'],
    ['audit --since 1h --verdict deny', 'What was refused in the last hour'],
    ["audit --agent codex --tool 'mcp__github__*'", 'What one agent did with one server’s tools'],
    ['audit --follow', 'Watch it as it happens'],
    ['audit --since 2026-05-01 --limit 10000 --json > may.jsonl', 'Export as JSON lines'],
  ],
  flags: {
    since: moment('Not before: 15m, 1h, 7d ago, or 2026-05-01T10:00:00Z'),
    until: moment('Not after, written alike'),
    agent: text('name', 'Of this agent'),
    session: text('id', 'Of this session'),
    server: text('name', 'Of this server'),
    tool: text('name', 'Of the tool with this name, or of those that a glob fits: clock/*'),
    type: text('types', 'Of these types, with commas between: TOOL_CALL_FAILED, UPSTREAM_LOST, …'),
    verdict: { kind: 'enum', values: VERDICTS, optional: true, brief: 'Calls with this verdict' },
    trace: text('id', 'Of this trace'),
    limit: {
      kind: 'parsed',
      parse: parseLimit,
      optional: true,
      placeholder: 'count',
      brief: `At most so many (${DEFAULT_LIMIT})`,
    },
    follow: { kind: 'boolean', optional: true, withNegated: false, brief: 'Go on with what happens from now' },
  },
  aliases: { f: 'follow', n: 'limit' },
  run: audit,
})

async function audit(context: CliContext, flags: AuditFlags & GlobalFlags): Promise<void> {
  const screen = createScreen(context, flags)
  const query = queryOf(flags)
  const events = await withRecords(context, flags, async (client) =>
    (await client.events(query, context.signal)).filter(matcherOf(flags)).slice(-(flags.limit ?? DEFAULT_LIMIT)),
  )
  const print = (event: EventView): void =>
    screen.json ? screen.dataJson(event) : screen.data(eventLine(event, screen.style))
  if (screen.json || flags.follow) events.forEach(print)
  else if (events.length === 0) screen.say('Nothing of that kind is recorded.')
  else screen.table(EVENT_COLUMNS, events)
  if (!flags.follow) return
  await followEvents({
    state: stateOf(context, flags),
    query: withoutLimit(query),
    after: events.at(-1),
    onEvent: (event) => matcherOf(flags)(event) && print(event),
    onSkipped: (count) =>
      screen.say(
        `! Up to ${count} records came too quickly to be shown; \`sallyport audit\` without --follow finds them.`,
      ),
    onWaiting: () => screen.say('No gateway runs on this state: waiting for one.'),
    signal: context.signal,
  })
}

function queryOf({
  since,
  until,
  verdict,
  limit = DEFAULT_LIMIT,
  follow,
  ...flags
}: AuditFlags & GlobalFlags): EventQuery {
  const { agent, session, server, tool, type, trace } = flags
  const fields = {
    since: since?.toISOString(),
    until: until?.toISOString(),
    agent,
    session,
    server,
    tool,
    type: type ?? (verdict && VERDICT_RULES[verdict].types.join(',')),
    trace,
    // Where more is asked than the API can filter, the limit is applied to what is left.
    limit: verdict === undefined ? limit : MAX_LIMIT,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

function withoutLimit({ limit, ...query }: EventQuery): EventQuery {
  return query
}

function matcherOf({ verdict }: AuditFlags): (event: EventView) => boolean {
  if (verdict === undefined) return () => true
  const { types, matches } = VERDICT_RULES[verdict]
  return (event) => types.includes(event.type) && matches(event)
}

function parseLimit(typed: string): number {
  const limit = Number(typed)
  if (/^\d+$/.test(typed) && limit >= 1 && limit <= MAX_LIMIT) return limit
  throw new SallyportError('USAGE', `"${typed}" is no limit; expected a whole number from 1 to ${MAX_LIMIT}.`)
}
