import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type LoggedEvent, MODES, type Mode, type ParsedToolsFile, SallyportError } from '@sallyport/core'
import { describeIssue, loadSettings, type Settings, withFile } from '../../config/config.ts'
import { openArgumentCheck, readToolsBytes } from '../../governance/governance.ts'
import { SCHEMA_THREAD_FILE } from '../../package-root.ts'
import { CallReplayer, loadStoredCatalog, type ReplayReport, ReplayTally } from '../../replay/replay.ts'
import { type EventFilter, openStoredCatalogs, readRecords } from '../../store/store.ts'
import { type AuditFilter, FILTER_FLAGS } from '../audit/audit-filter.ts'
import { formatReplay, formatReplaySummary } from '../audit/replay-text.ts'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import { type FoundHome, findHome } from '../find-home.ts'
import type { GlobalFlags } from '../global-flags.ts'
import { createChoiceParser } from '../terminal/choice-parser.ts'
import { createScreen, type Screen } from '../terminal/screen.ts'

interface ReplayFlags extends Pick<AuditFilter, 'since' | 'until' | 'agent' | 'session' | 'server' | 'tool'> {
  readonly tools?: string
  readonly config?: string
  readonly mode?: Mode
  readonly failOnChange?: boolean
}

const { since, until, agent, session, server, tool } = FILTER_FLAGS
const fileFlag = (brief: string) =>
  ({ kind: 'parsed', parse: String, optional: true, placeholder: 'file', brief }) as const
const parseMode = createChoiceParser(MODES)

export const replayCommand = defineCommand<ReplayFlags>({
  brief: 'Decide recorded calls again, by other rules, and show what would change',
  description:
    'No server is started and nothing is called. Servers are used as they were last known. Limits, and what people\n' +
    'answered, are not replayed: an approved call is treated as one that asks.',
  examples: [
    ['replay --since 7d --tools new-tools.yaml', 'What a changed tools.yaml would have meant for the last week'],
    ['replay --since 1d --mode ALERT', 'What would have been refused yesterday in ALERT'],
    ['replay --since 7d --tools tools.yaml --fail-on-change', 'For CI: exits with 6 when a verdict changes'],
  ],
  flags: {
    ...{ since, until, agent, session, server, tool },
    tools: fileFlag('The tools.yaml to decide by (that of the home)'),
    config: fileFlag('The config.yaml to decide by (that of the home)'),
    mode: {
      kind: 'parsed',
      parse: (typed: string) => parseMode(typed.toUpperCase()),
      optional: true,
      placeholder: 'mode',
      brief: 'As if this mode had been in force (the one that was)',
    },
    failOnChange: { kind: 'boolean', optional: true, withNegated: false, brief: 'Exit with 6 when a verdict changes' },
  },
  run: replay,
})

async function replay(context: CliContext, flags: ReplayFlags & GlobalFlags): Promise<void> {
  const screen = createScreen(context, flags)
  const found = await findHome(context, flags)
  const rules = await readRules(context, flags, { found, screen })
  const replayed = await replayCalls(context, flags, { ...rules, state: found.state })
  const report =
    flags.config === undefined ? replayed : nameGivenFile(replayed, join(found.home.path, 'config.yaml'), flags.config)
  show(screen, report)
  if (flags.failOnChange && report.changed > 0)
    throw new SallyportError(
      'VERDICTS_CHANGED',
      `${report.changed} of ${report.calls} calls would be decided differently.`,
    )
}

interface ReplayRules {
  readonly settings: Settings
  readonly tools: ParsedToolsFile
}

async function readRules(
  { environment, cwd }: CliContext,
  flags: ReplayFlags,
  { found, screen }: { readonly found: FoundHome; readonly screen: Screen },
): Promise<ReplayRules> {
  const { home, content } = found
  const given =
    flags.config === undefined ? content : withFile(content, 'config.yaml', await readGivenFile(cwd, flags.config))
  const { settings, warnings } = await loadSettings({ home: home.path, environment, content: given })
  for (const issue of warnings)
    screen.printMessage(`! ${describeIssue({ ...issue, file: flags.config ?? issue.file })}`)
  const file = flags.tools === undefined ? join(home.path, 'tools.yaml') : resolve(cwd, flags.tools)
  const bytes = flags.tools === undefined ? content.files.get('tools.yaml') : await readGivenFile(cwd, flags.tools)
  const reading = readToolsBytes(file, bytes)
  if (!reading.ok) {
    const { line, column, problem } = reading.issue
    throw new SallyportError('TOOLS_FILE_INVALID', `${file}:${line}:${column}: ${problem}`)
  }
  for (const { line, column, problem } of reading.warnings)
    screen.printMessage(`! ${file}:${line}:${column}: ${problem}`)
  return { settings, tools: reading.file }
}

function readGivenFile(cwd: string, path: string): Promise<Buffer> {
  return readFile(resolve(cwd, path)).catch((cause: NodeJS.ErrnoException) => {
    throw new SallyportError('USAGE', `${path} cannot be read (${cause.code}).`, { cause })
  })
}

const RECORD_TYPES: readonly LoggedEvent['type'][] = [
  'TOOL_CALL_STARTED',
  'POLICY_DENIED',
  'TOOL_CALL_COMPLETED',
  'TOOL_CALL_FAILED',
]

async function replayCalls(
  { environment, signal }: CliContext,
  flags: ReplayFlags,
  { settings, tools, state }: ReplayRules & { readonly state: string },
): Promise<ReplayReport> {
  const stored = openStoredCatalogs(state)
  const argumentCheck = openArgumentCheck({ threadFile: SCHEMA_THREAD_FILE })
  try {
    const catalog = await loadStoredCatalog(settings, stored)
    const check = argumentCheck.check.bind(argumentCheck)
    const replayer = new CallReplayer({ catalog, settings, tools, environment, mode: flags.mode, check })
    const tally = new ReplayTally((recorded) => replayer.decide(recorded))
    for await (const { event } of readRecords(join(state, 'logs'), toEventFilter(flags), signal))
      await tally.addEvent(event)
    return await tally.report()
  } finally {
    stored.close()
    await argumentCheck.close()
  }
}

function toEventFilter(flags: ReplayFlags): EventFilter {
  const { since, until, agent, session, server, tool } = flags
  const fields = Object.entries({ since, until, agent, session, server, tool })
  return { ...Object.fromEntries(fields.filter(([, value]) => value !== undefined)), types: RECORD_TYPES }
}

/** A given file is read instead of the home's file, so its rules are reported with the path of the given file. */
function nameGivenFile(report: ReplayReport, inHome: string, given: string): ReplayReport {
  const changes = report.changes.map((change) => {
    const { rule } = change
    return rule?.file === inHome ? { ...change, rule: { ...rule, file: given } } : change
  })
  return { ...report, changes }
}

function show(screen: Screen, report: ReplayReport): void {
  if (screen.json) return screen.printJson(report)
  screen.print(formatReplay(report, screen))
  screen.printMessage(formatReplaySummary(report))
}
