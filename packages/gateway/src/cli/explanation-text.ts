import { formatDuration, type Json } from '@sallyport/core'
import { between, type CallStory, tellStory } from './call-story.ts'
import { fixOf } from './error-fix.ts'
import type { Explanation } from './gateway-client.ts'
import { type Fate, fateOf, headline } from './headline.ts'
import { localTime } from './local-time.ts'
import { ruleNotes, type StepLine, stepLines } from './step-lines.ts'
import { displayWidth, type Style, visibleLine, visibleLines } from './terminal-text.ts'
import { wrapText } from './wrap-text.ts'

export interface Sheet {
  readonly style: Style
  readonly width: number | undefined
}

type Row = readonly [name: string, lines: readonly string[]]

const MOST_LINES = 30
const GAP = '  '

/** The life of one call, for a person: first what happened, then why, then the rest. */
export function explainCall(call: Explanation['calls'][number], rules: Explanation['rules'], sheet: Sheet): string {
  const story = tellStory(call)
  const { style, width } = sheet
  const [fate, ...rest] = wrapText(headline(story), width)
  const head = [paintFate(fate ?? '', story, style), ...rest]
  const steps = story.decided ? stepLines({ decided: story.decided, rules, style }) : []
  const facts = [
    ...approvalRows(story, rules),
    ...questionRows(story),
    ...decisionRows(story),
    ...endRows(story, width),
  ]
  const parts = [head, steps.flatMap((line) => stepText(line, sheet)), factLines([...facts, ...idRows(story)], sheet)]
  return parts.flatMap((lines) => (lines.length > 0 ? [`${lines.join('\n')}\n`] : [])).join('\n')
}

const FATES: Readonly<Record<Fate, keyof Style>> = {
  Allowed: 'green',
  Refused: 'red',
  Waiting: 'yellow',
  Failed: 'red',
}

function paintFate(line: string, story: CallStory, style: Style): string {
  const fate = fateOf(story)
  return `${style.bold(style[FATES[fate]](fate))}${line.slice(fate.length)}`
}

const STEP_WIDTH = 10

function stepText({ step, mark, paint, reason, notes }: StepLine, { style, width }: Sheet): readonly string[] {
  const before = `  ${mark} ${step.padEnd(STEP_WIDTH)}${GAP}`
  const room = width === undefined ? undefined : width - displayWidth(before)
  const [first = '', ...more] = wrapText(reason, room)
  const indent = ' '.repeat(displayWidth(before))
  const head = `  ${paint(mark)} ${step.padEnd(STEP_WIDTH)}${GAP}${mark === '·' ? style.dim(first) : first}`
  return [head, ...more.map((line) => indent + line), ...notes.map((line) => indent + style.dim(line))]
}

function approvalRows({ asked, answered, expired, decided }: CallStory, rules: Explanation['rules']): readonly Row[] {
  if (asked === undefined) return []
  const by = asked.rule && decided ? ruleNotes(asked.rule, { decided, rules }) : []
  const question = [`asked at ${localTime(asked.time)}: ${visibleLine(asked.reason)}`, ...by.map((line) => `  ${line}`)]
  if (answered) {
    const why = answered.why === undefined ? '' : `: ${visibleLine(answered.why)}`
    const who = visibleLine(`${answered.by} over ${answered.via}`)
    const took = formatDuration(between(asked, answered))
    return [['approval', [...question, `${ANSWERS[answered.answer]} by ${who}, after ${took}${why}`]]]
  }
  const end = expired
    ? visibleLine(expired.reason)
    : `nobody has answered yet; it waits until ${localTime(asked.expires)}`
  return [['approval', [...question, end]]]
}

const ANSWERS = {
  deny: 'refused',
  once: 'approved once',
  session: 'approved for the session',
  always: 'approved for good',
} as const

function questionRows({ questions }: CallStory): readonly Row[] {
  const lines = questions.map((event) => {
    if (event.type === 'CLIENT_ASKED') return `its server asked ${visibleLine(event.method)} of the client`
    return `${event.success ? 'answered' : 'not answered'} after ${formatDuration(event.latency_ms)}`
  })
  return lines.length === 0 ? [] : [['questions', lines]]
}

function decisionRows({ decided }: CallStory): readonly Row[] {
  if (decided === undefined) return []
  const { mode, risk, risk_reason, would } = decided
  const rows: Row[] = []
  if (would) rows.push(['watched', [`${would.step} would have ${WOULD[would.outcome]}: ${visibleLine(would.reason)}`]])
  if (mode !== undefined) rows.push(['mode', [visibleLine(mode)]])
  if (risk !== undefined) rows.push(['risk', [visibleLine(risk_reason ? `${risk} (${risk_reason})` : risk)]])
  return rows
}

const WOULD = { deny: 'refused it', ask: 'asked somebody' } as const

function endRows({ decided, asked, ended }: CallStory, width: number | undefined): readonly Row[] {
  const rows: Row[] = []
  const given = decided?.arguments ?? asked?.arguments
  if (given !== undefined) rows.push(['arguments', argumentLines(given, width)])
  if (ended?.type === 'TOOL_CALL_COMPLETED')
    rows.push(['answer', [`${ended.bytes} bytes, about ${ended.tokens_estimated} tokens`]])
  const failed = decided?.type === 'POLICY_DENIED' ? decided : ended?.type === 'TOOL_CALL_FAILED' ? ended : undefined
  if (failed === undefined) return rows
  rows.push(['error', [`${visibleLine(failed.error)}: ${visibleLine(failed.message)}`]])
  const fix = fixOf(failed.error, failed)
  if (fix !== undefined) rows.push(['what to do', [visibleLine(fix)]])
  return rows
}

/** On one line where they fit. */
function argumentLines(given: Json, width: number | undefined): readonly string[] {
  const short = visibleLine(JSON.stringify(given))
  if (displayWidth(short) <= (width ?? 120) - 12) return [short]
  const lines = visibleLines(JSON.stringify(given, null, 2)).split('\n')
  if (lines.length <= MOST_LINES) return lines
  return [...lines.slice(0, MOST_LINES), `… and ${lines.length - MOST_LINES} lines more: --json shows them`]
}

function idRows({ first, id, trace }: CallStory): readonly Row[] {
  const { profile, session, server, method, is_mcp } = first
  return [
    ['caller', [visibleLine(`profile ${profile}, session ${session}`)]],
    ['server', [visibleLine(is_mcp ? server : `${server} (the gateway's own)`)]],
    ...(method === 'tools/call' ? [] : [['method', [visibleLine(method)]] as const]),
    ['call', [visibleLine(id)]],
    ['trace', [visibleLine(trace)]],
  ]
}

function factLines(rows: readonly Row[], { style, width }: Sheet): readonly string[] {
  const names = Math.max(...rows.map(([name]) => name.length))
  const indent = ' '.repeat(names + GAP.length)
  const room = width === undefined ? undefined : width - indent.length
  return rows.flatMap(([name, lines]) =>
    lines
      .flatMap((line) => wrapText(line, room))
      .map((line, at) => (at === 0 ? `${style.dim(name.padEnd(names))}${GAP}${line}` : indent + line)),
  )
}
