import { formatDuration, type Json, type RuleSource } from '@sallyport/core'
import { APPROVAL_OUTCOMES, formatUnwrittenRule } from './answer-words.ts'
import {
  buildCallHistory,
  type CallHistory,
  type DecisionEvent,
  type EventOfType,
  millisecondsBetween,
} from './call-story.ts'
import { findFix } from './error-fix.ts'
import type { Explanation } from './gateway-client.ts'
import { type CallStatus, formatCallSummary, getCallStatus } from './headline.ts'
import { formatLocalTime } from './local-time.ts'
import { describeReturned } from './returned-lines.ts'
import { buildStepLines, describeRule, listSkippedSteps, type StepLine } from './step-lines.ts'
import { displayWidth, type Style, visibleLine, visibleLines } from './terminal-text.ts'
import { wrapText } from './wrap-text.ts'

export interface TextLayout {
  readonly style: Style
  readonly width: number | undefined
}

type Row = readonly [name: string, lines: readonly string[]]

const MAX_LINES = 30
const GAP = '  '

/** The life of one call, for a person: first what happened, then why, then the rest. */
export function explainCall(
  call: Explanation['calls'][number],
  rules: Explanation['rules'],
  sheet: TextLayout,
): string {
  const story = buildCallHistory(call)
  const { style, width } = sheet
  const [fate, ...rest] = wrapText(formatCallSummary(story), width)
  const head = [paintStatus(fate ?? '', story, style), ...rest]
  const steps = story.decided ? decisionLines(story.decided, rules, sheet) : []
  const facts = [
    ...approvalRows(story, rules),
    ...questionRows(story),
    ...decisionRows(story),
    ...endRows(story, width),
  ]
  const parts = [head, steps, factLines([...facts, ...idRows(story)], sheet)]
  return parts.flatMap((lines) => (lines.length > 0 ? [`${lines.join('\n')}\n`] : [])).join('\n')
}

const STATUS_COLORS: Readonly<Record<CallStatus, keyof Style>> = {
  Allowed: 'green',
  Refused: 'red',
  Cancelled: 'yellow',
  Waiting: 'yellow',
  Failed: 'red',
}

function paintStatus(line: string, story: CallHistory, style: Style): string {
  const fate = getCallStatus(story)
  return `${style.bold(style[STATUS_COLORS[fate]](fate))}${line.slice(fate.length)}`
}

function decisionLines(decided: DecisionEvent, rules: Explanation['rules'], sheet: TextLayout): readonly string[] {
  const steps = buildStepLines({ decided, rules, style: sheet.style }).flatMap((line) => stepText(line, sheet))
  const rest = listSkippedSteps(decided)
  if (rest.length === 0) return steps
  return [...steps, ...wrapText(`  · not asked any more: ${rest.join(', ')}`, sheet.width).map(sheet.style.dim)]
}

const STEP_WIDTH = 10

function stepText({ step, mark, paint, reason, notes }: StepLine, { width }: TextLayout): readonly string[] {
  const before = `  ${mark} ${step.padEnd(STEP_WIDTH)}${GAP}`
  const room = width === undefined ? undefined : width - displayWidth(before)
  const [first = '', ...more] = wrapText(reason, room)
  const indent = ' '.repeat(displayWidth(before))
  const head = `  ${paint(mark)} ${step.padEnd(STEP_WIDTH)}${GAP}${first}`
  return [head, ...more.map((line) => indent + line), ...notes.map((line) => indent + line)]
}

function approvalRows(story: CallHistory, rules: Explanation['rules']): readonly Row[] {
  const { asked, answered, expired } = story
  if (asked === undefined) return []
  const question = [`asked at ${formatLocalTime(asked.time)}${formatAskReason(story)}`, ...formatAskRule(story, rules)]
  if (answered) {
    const why = answered.why === undefined ? '' : `: ${visibleLine(answered.why)}`
    const unwritten = visibleLine(formatUnwrittenRule(answered.unwritten))
    const who = visibleLine(`${answered.by} (over ${answered.via})`)
    const took = formatDuration(millisecondsBetween(asked, answered))
    return [
      ['approval', [...question, `${APPROVAL_OUTCOMES[answered.answer]} by ${who} after ${took}${why}${unwritten}`]],
    ]
  }
  const end = expired
    ? visibleLine(expired.reason)
    : `nobody has answered yet; it waits until ${formatLocalTime(asked.expires)}`
  return [['approval', [...question, end]]]
}

const formatAskReason = ({ asked, decided }: CallHistory): string =>
  asked === undefined || asked.reason === decided?.decided_by?.reason ? '' : `: ${visibleLine(asked.reason)}`

/** Unless a step names the same rule. */
function formatAskRule({ asked, decided }: CallHistory, rules: Explanation['rules']): readonly string[] {
  const rule = asked?.rule
  if (asked === undefined || rule === undefined) return []
  const isNamed = (other: RuleSource | undefined): boolean => other?.file === rule.file && other.line === rule.line
  if (isNamed(decided?.decided_by?.rule) || isNamed(decided?.rules?.approve)) return []
  return describeRule(rule, { time: asked.time, rules }).map((line) => `  ${line}`)
}

function questionRows({ questions }: CallHistory): readonly Row[] {
  const lines = questions.map((event) => {
    if (event.type === 'CLIENT_ASKED') return `its server asked ${visibleLine(event.method)} of the client`
    return `${event.success ? 'answered' : 'not answered'} after ${formatDuration(event.latency_ms)}`
  })
  return lines.length === 0 ? [] : [['questions', lines]]
}

function decisionRows({ decided }: CallHistory): readonly Row[] {
  if (decided === undefined) return []
  const { mode, risk, risk_reason, would } = decided
  const rows: Row[] = []
  if (would)
    rows.push(['watched', [`${would.step} would have ${WOULD_OUTCOMES[would.outcome]}: ${visibleLine(would.reason)}`]])
  if (mode !== undefined) rows.push(['mode', [visibleLine(mode)]])
  if (risk !== undefined) rows.push(['risk', [visibleLine(risk_reason ? `${risk} (${risk_reason})` : risk)]])
  return rows
}

const WOULD_OUTCOMES = { deny: 'refused it', ask: 'asked somebody' } as const

function endRows({ decided, asked, ended, expired }: CallHistory, width: number | undefined): readonly Row[] {
  const rows: Row[] = []
  const given = decided?.arguments ?? asked?.arguments
  if (given !== undefined) rows.push(['arguments', argumentLines(given, width)])
  if (ended?.type === 'TOOL_CALL_COMPLETED') rows.push(['answer', [sizeText(ended)]])
  if (ended?.returned !== undefined) rows.push(['went back', describeReturned(ended)])
  const failed = decided?.type === 'POLICY_DENIED' ? decided : ended?.type === 'TOOL_CALL_FAILED' ? ended : undefined
  if (failed === undefined) return rows
  const isSaid = [denialReason(decided), expired?.reason].includes(failed.message)
  if (!isSaid) rows.push(['error', [`${visibleLine(failed.error)}: ${visibleLine(failed.message)}`]])
  const fix = findFix(failed.error, failed)
  if (fix !== undefined) rows.push(['what to do', [visibleLine(fix)]])
  return rows
}

const sizeText = ({ bytes, tokens_estimated: tokens }: EventOfType<'TOOL_CALL_COMPLETED'>): string =>
  tokens === undefined ? `${bytes} bytes` : `${bytes} bytes, about ${tokens} tokens`

const denialReason = (decided: DecisionEvent | undefined): string | undefined =>
  decided?.type === 'POLICY_DENIED' ? decided.decided_by?.reason : undefined

/** On one line where they fit. */
function argumentLines(given: Json, width: number | undefined): readonly string[] {
  const short = visibleLine(JSON.stringify(given))
  if (displayWidth(short) <= (width ?? 120) - 12) return [short]
  const lines = visibleLines(JSON.stringify(given, null, 2)).split('\n')
  if (lines.length <= MAX_LINES) return lines
  return [...lines.slice(0, MAX_LINES), `… and ${lines.length - MAX_LINES} lines more: --json shows them`]
}

function idRows({ first, id, trace }: CallHistory): readonly Row[] {
  const { profile, session, server, method, is_mcp } = first
  return [
    ['caller', [visibleLine(`profile ${profile}, session ${session}`)]],
    ['server', [visibleLine(is_mcp ? server : `${server} (the gateway's own)`)]],
    ...(method === 'tools/call' ? [] : [['method', [visibleLine(method)]] as const]),
    ['call', [visibleLine(id)]],
    ['trace', [visibleLine(trace)]],
  ]
}

function factLines(rows: readonly Row[], { style, width }: TextLayout): readonly string[] {
  const names = Math.max(...rows.map(([name]) => name.length))
  const indent = ' '.repeat(names + GAP.length)
  const room = width === undefined ? undefined : width - indent.length
  return rows.flatMap(([name, lines]) =>
    lines
      .flatMap((line) => wrapText(line, room))
      .map((line, at) => (at === 0 ? `${style.dim(name.padEnd(names))}${GAP}${line}` : indent + line)),
  )
}
