import { findEffectiveProfile } from '../../config/config.ts'
import type { CliContext } from '../cli-context.ts'
import { defineCommand } from '../define-command.ts'
import type { GlobalFlags } from '../global-flags.ts'
import {
  createProfileReport,
  listProfileWarnings,
  type ProfileReport,
  parseProfileRef,
  readProfilesView,
} from '../profiles-view.ts'
import type { Example } from '../terminal/help-text.ts'
import { createScreen, type Screen } from '../terminal/screen.ts'
import type { Column } from '../terminal/table.ts'
import { visibleLine } from '../terminal/terminal-text.ts'

export const LIST_EXAMPLES: readonly Example[] = [
  ['profiles', 'All profiles, and how many tools each selects'],
  ['profiles --json', 'The same for a program'],
]

export const listCommand = defineCommand<object>({
  brief: 'List the profiles of all agents',
  examples: LIST_EXAMPLES,
  flags: {},
  run: listProfiles,
})

export const showCommand = defineCommand<object, [string]>({
  brief: 'Show one profile and every tool that it selects',
  examples: [
    ['profiles show claude-code.reviewer', 'By agent and variant'],
    ['profiles show codex', 'The default of an agent'],
  ],
  flags: {},
  positional: {
    kind: 'tuple',
    parameters: [{ brief: 'Agent and variant: claude-code.reviewer', placeholder: 'profile', parse: String }],
  },
  run: showProfile,
})

async function listProfiles(context: CliContext, flags: GlobalFlags): Promise<void> {
  const screen = createScreen(context, flags)
  const view = await readProfilesView(context, flags)
  const { path, etag, profiles } = await view.editor.read()
  const reports = [...profiles.values()].map((profile) => createProfileReport(profile, view))
  const warnings = [...new Set(reports.flatMap((report) => listProfileWarnings(report, view)))]
  if (screen.json) return screen.printJson({ file: path, etag, profiles: reports, warnings })
  if (reports.length === 0)
    return screen.printMessage(
      `There are no profiles in ${path}: every agent has all tools. \`sallyport profiles set\` creates one.`,
    )
  screen.printTable(COLUMNS, reports)
  printWarnings(screen, warnings)
}

async function showProfile(context: CliContext, flags: GlobalFlags, typed: string): Promise<void> {
  const screen = createScreen(context, flags)
  const ref = parseProfileRef(typed)
  const view = await readProfilesView(context, flags)
  const { path, profiles } = await view.editor.read()
  const report = createProfileReport(findEffectiveProfile(profiles, ref), view)
  const warnings = listProfileWarnings(report, view)
  if (screen.json) return screen.printJson({ file: path, ...report, warnings })
  screen.printFacts(listFacts(report, path).map(([name, value]) => ({ name, value })))
  printWarnings(screen, warnings)
}

export function printWarnings(screen: Screen, warnings: readonly string[]): void {
  for (const warning of warnings) screen.printMessage(`! ${visibleLine(warning)}`)
}

const COLUMNS: readonly Column<ProfileReport>[] = [
  { title: 'PROFILE', value: ({ name }) => name },
  { title: 'TOOLS', value: formatToolCount },
  { title: 'BUDGET', value: ({ tokenBudget }) => tokenBudget, align: 'right' },
  { title: 'APPROVES', value: ({ clientApproval }) => formatClientApproval(clientApproval, 'in runs') },
  { title: 'SELECTORS', value: ({ selectedMcpTools }) => selectedMcpTools?.join(' ') ?? '', flexible: true },
  { title: 'TITLE', value: ({ title }) => title, flexible: true },
]

function formatClientApproval(clientApproval: boolean | undefined, fallback: string): string {
  if (clientApproval === undefined) return fallback
  return clientApproval ? 'yes' : 'no'
}

/** `4 of 17`; without a selection `all`. */
export function formatToolCount({ selectedMcpTools, tools }: ProfileReport): string {
  if (selectedMcpTools === undefined) return 'all'
  return tools === undefined ? 'unknown' : `${tools.selected.length} of ${tools.available}`
}

function listFacts(report: ProfileReport, path: string): readonly (readonly [string, string])[] {
  const { name, agent, title, selectedMcpTools, tools, tokenBudget, session, clientApproval, line } = report
  const listed = selectedMcpTools ? (tools?.selected.map(visibleLine) ?? []) : []
  return [
    ['profile', name],
    ...(title === undefined ? [] : [['title', visibleLine(title)] as const]),
    ['selects', selectedMcpTools === undefined ? 'all tools' : selectedMcpTools.map(visibleLine).join(' ') || 'none'],
    ['tools', [formatToolCount(report), ...listed].join('\n')],
    ...(tokenBudget === undefined ? [] : [['token budget', String(tokenBudget)] as const]),
    ...(session === undefined ? [] : [['session', visibleLine(session)] as const]),
    ['its client approves', formatClientApproval(clientApproval, 'where `sallyport run` starts it in a terminal')],
    ['defined in', line === undefined ? `nowhere: ${path} does not name ${agent}` : `${path}:${line}`],
  ]
}
