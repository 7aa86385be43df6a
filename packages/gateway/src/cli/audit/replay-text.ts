import type { ReplayReport, UndecidedCalls, VerdictChange } from '../../replay/replay.ts'
import { type Style, visibleLine } from '../terminal/terminal-text.ts'
import { wrapText } from '../terminal/wrap-text.ts'
import { formatRuleLocation } from './rule-location.ts'

interface TextLayout {
  readonly style: Style
  readonly width: number | undefined
}

const OUTCOME_WORDS = { allow: 'allowed', ask: 'asks', deny: 'refused' } as const
const OUTCOME_COLORS = { allow: 'green', ask: 'yellow', deny: 'red' } as const satisfies Record<string, keyof Style>

/** Decisions that would change, tool by tool, and calls that cannot be decided. */
export function formatReplay({ changes, undecidedCalls }: ReplayReport, layout: TextLayout): string {
  const blocks = [...changes.map((change) => changeLines(change, layout)), ...undecidedBlock(undecidedCalls, layout)]
  return blocks.map((lines) => `${lines.join('\n')}\n`).join('\n')
}

function changeLines(
  { tool, from, to, reason, rule, calls, examples }: VerdictChange,
  layout: TextLayout,
): readonly string[] {
  const { style, width } = layout
  const location = rule && visibleLine(formatRuleLocation(rule))
  const head = `${counted(calls)} of ${style.bold(visibleLine(tool))}: ${OUTCOME_WORDS[from]} → ${style[OUTCOME_COLORS[to]](OUTCOME_WORDS[to])}`
  return [
    head,
    ...(reason === '' ? [] : wrapText(`  ${visibleLine(reason)}`, width)),
    ...(location === undefined ? [] : [`  ${location}`]),
    style.dim(`  such as ${examples.map(visibleLine).join(', ')}`),
  ]
}

function undecidedBlock(
  groups: readonly UndecidedCalls[],
  { style, width }: TextLayout,
): readonly (readonly string[])[] {
  if (groups.length === 0) return []
  const lines = groups.flatMap(({ tool, reason, calls, examples: [first = ''] }) =>
    wrapText(`  ${counted(calls)} of ${visibleLine(tool)}: ${reason} (such as ${visibleLine(first)})`, width),
  )
  return [[style.yellow('Undecided:'), ...lines]]
}

/** The last line, for a reader who reads nothing else. */
export function formatReplaySummary({ calls, same, changed, undecided }: ReplayReport): string {
  if (calls === 0) return 'No recorded call matches.'
  const rest = undecided === 0 ? '' : `, ${undecided} cannot be decided`
  return `${counted(calls)}: ${same} unchanged, ${changed} changed${rest}.`
}

const counted = (calls: number): string => `${calls} ${calls === 1 ? 'call' : 'calls'}`
