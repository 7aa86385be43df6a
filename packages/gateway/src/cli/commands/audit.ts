import { SallyportError } from '@sallyport/core'
import { buildRouteMap } from '@stricli/core'
import { type AuditFilter, createVerdictFilter, FILTER_FLAGS, toEventQuery } from '../audit/audit-filter.ts'
import { type EventLineOptions, eventColumns, formatEventLine } from '../audit/event-line.ts'
import { followEvents } from '../audit/follow-events.ts'
import { parseEventTypes, readLoggedRecords } from '../audit/logged-records.ts'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import { resolveState } from '../find-home.ts'
import type { EventView } from '../gateway/gateway-client.ts'
import { withRecords } from '../gateway/with-gateway.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { type Example, withOverview } from '../terminal/help-text.ts'
import { createScreen } from '../terminal/screen.ts'
import { verifyCommand } from './audit-verify.ts'

const exportCommand = defineCommand<AuditFilter>({
  brief: 'Print all records that match, exactly as they are in the log: JSON lines',
  description: 'There is no limit. It reads the files of the log, whether a gateway runs or not.',
  examples: [
    ['audit export > all.jsonl', 'All stored records'],
    ['audit export --since 30d --verdict deny', 'What was refused in a month'],
  ],
  flags: FILTER_FLAGS,
  run: exportRecords,
})

async function exportRecords(context: CliContext, flags: AuditFilter & GlobalFlags): Promise<void> {
  const screen = createScreen(context, flags)
  let count = 0
  for await (const { line } of readLoggedRecords(context, flags)) {
    screen.printUntrusted(`${line}\n`)
    count++
  }
  if (!screen.json) screen.printMessage(count === 1 ? '1 record.' : `${count} records.`)
}

interface ListFlags extends AuditFilter {
  readonly limit?: number
  readonly follow?: boolean
}

const DEFAULT_LIMIT = 50
const MAX_LIMIT = 10_000

const LIST_EXAMPLES: readonly Example[] = [
  ['audit', 'The newest 50 records'],
  ['audit --since 1h --verdict deny', 'What was refused in the last hour'],
  ["audit --agent codex --tool 'mcp__github__*'", 'What one agent did with one server’s tools'],
  ['audit --follow', 'Watch it as it happens'],
]

const listCommand = defineCommand<ListFlags>({
  brief: 'Show what happened: calls, refusals, servers that connected or were lost',
  description: 'The newest records, oldest first; JSON lines with --json. `explain` shows more about one call.',
  examples: LIST_EXAMPLES,
  flags: {
    ...FILTER_FLAGS,
    limit: {
      kind: 'parsed',
      parse: parseLimit,
      optional: true,
      placeholder: 'count',
      brief: `The maximum number of records (${DEFAULT_LIMIT})`,
    },
    follow: { kind: 'boolean', optional: true, withNegated: false, brief: 'Keep running and print new records' },
  },
  aliases: { f: 'follow', n: 'limit' },
  run: listEvents,
})

export const auditCommands = withOverview(
  buildRouteMap<'list' | 'export' | 'verify', CliContext>({
    routes: Object.assign(Object.create(null), { list: listCommand, export: exportCommand, verify: verifyCommand }),
    defaultCommand: 'list',
    docs: { brief: 'Show what happened, export it, and prove that nothing was changed' },
  }),
  [
    ...LIST_EXAMPLES,
    ['audit export --since 30d > april.jsonl', 'Export all records of a period'],
    ['audit verify', 'Prove that no record was removed or altered'],
  ],
)

async function listEvents(context: CliContext, flags: ListFlags & GlobalFlags): Promise<void> {
  const screen = createScreen(context, flags)
  await parseEventTypes(flags.type)
  const asked = context.now()
  const { events, newest } = await findEvents(context, flags)
  const matches = createVerdictFilter(flags)
  const reader = (): EventLineOptions => ({ style: screen.style, width: screen.width, now: context.now() })
  const print = (event: EventView): void =>
    screen.json ? screen.printJson(event) : screen.print(formatEventLine(event, reader()))
  if (screen.json || flags.follow) events.forEach(print)
  else if (events.length === 0) screen.printMessage('No record matches.')
  else screen.printTable(eventColumns(reader()), events)
  if (!flags.follow) return
  const state = resolveState(context, flags)
  await followEvents({
    state,
    query: toEventQuery(flags),
    after: newest,
    asked,
    onEvent: (event) => matches(event) && print(event),
    onSkipped: (count) =>
      screen.printMessage(
        `! Up to ${count} records came too quickly to be shown; \`sallyport audit\` without --follow finds them.`,
      ),
    onWaiting: () => screen.printMessage(`No gateway runs on the state ${state}; waiting for one.`),
    signal: context.signal,
  })
}

interface FoundEvents {
  readonly events: readonly EventView[]
  /** The newest event that was read, shown or not: --follow continues after it. */
  readonly newest: EventView | undefined
}

/**
 * The API cannot filter by verdict: the newest events are filtered here, and if they are too few, the log files are
 * read.
 */
async function findEvents(context: CliContext, flags: ListFlags & GlobalFlags): Promise<FoundEvents> {
  const { limit = DEFAULT_LIMIT, verdict } = flags
  const asked = { ...toEventQuery(flags), limit: verdict === undefined ? limit : MAX_LIMIT }
  const received = await withRecords(context, flags, (client) => client.events(asked, context.signal))
  const newest = received.at(-1)
  const matching = received.filter(createVerdictFilter(flags)).slice(-limit)
  if (matching.length === limit || received.length < asked.limit) return { events: matching, newest }
  return { events: await readNewestRecords(context, flags, limit), newest }
}

/** A log may hold far more records than memory does. */
async function readNewestRecords(
  context: CliContext,
  flags: ListFlags & GlobalFlags,
  limit: number,
): Promise<readonly EventView[]> {
  let newest: EventView[] = []
  for await (const { event } of readLoggedRecords(context, flags)) {
    newest.push(event)
    if (newest.length >= 2 * limit) newest = newest.slice(-limit)
  }
  return newest.slice(-limit)
}

function parseLimit(typed: string): number {
  const limit = Number(typed)
  if (/^\d+$/.test(typed) && limit >= 1 && limit <= MAX_LIMIT) return limit
  throw new SallyportError(
    'USAGE',
    `"${typed}" is not a valid limit; expected a whole number from 1 to ${MAX_LIMIT}.`,
    {
      hint: '`sallyport audit export` has no limit.',
    },
  )
}
