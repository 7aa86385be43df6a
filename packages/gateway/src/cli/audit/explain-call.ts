import {
  type ErrorCode,
  formatDuration,
  type Json,
  quoteForShell,
  type ReturnedFacts,
  type RuleSource,
  STEP_NAMES,
  type StepName,
} from '@sallyport/core'
import type { Explanation } from '../gateway/gateway-client.ts'
import { formatLocalTime } from '../terminal/local-time.ts'
import { displayWidth, type Style, visibleLine, visibleLines } from '../terminal/terminal-text.ts'
import { wrapText } from '../terminal/wrap-text.ts'
import {
  buildCallHistory,
  type CallEndEvent,
  type CallHistory,
  type DecisionEvent,
  type EventOfType,
  millisecondsBetween,
} from './call-history.ts'
import { type CallStatus, formatCallSummary, getCallStatus } from './call-summary.ts'

export interface TextLayout {
  /** Completes the commands that a text suggests. */
  readonly withFolders?: (text: string) => string
  readonly style: Style
  readonly width: number | undefined
}

type Row = readonly [name: string, lines: readonly string[]]

const MAX_LINES = 30
const GAP = '  '

/** Explains one call to a person: first what happened, then why, then the rest. */
export function explainCall(
  call: Explanation['calls'][number],
  rules: Explanation['rules'],
  layout: TextLayout,
): string {
  const history = buildCallHistory(call)
  const { style, width, withFolders = asIs } = layout
  const [status, ...rest] = wrapText(withFolders(formatCallSummary(history)), width)
  const head = [paintStatus(status ?? '', history, style), ...rest]
  const steps = history.decided ? decisionLines(history.decided, rules, layout) : []
  const facts = [
    ...approvalRows(history, rules),
    ...questionRows(history),
    ...connectionRows(history),
    ...decisionRows(history),
    ...endRows(history, width),
  ]
  const parts = [head, steps, factLines([...facts, ...idRows(history)], layout)]
  return parts.flatMap((lines) => (lines.length > 0 ? [`${lines.join('\n')}\n`] : [])).join('\n')
}

const STATUS_COLORS: Readonly<Record<CallStatus, keyof Style>> = {
  Allowed: 'green',
  Refused: 'red',
  Cancelled: 'yellow',
  Waiting: 'yellow',
  Failed: 'red',
}

function paintStatus(line: string, history: CallHistory, style: Style): string {
  const status = getCallStatus(history)
  return `${style.bold(style[STATUS_COLORS[status]](status))}${line.slice(status.length)}`
}

function decisionLines(decided: DecisionEvent, rules: Explanation['rules'], layout: TextLayout): readonly string[] {
  const steps = buildStepLines({ decided, rules, style: layout.style }).flatMap((line) => stepText(line, layout))
  const rest = listSkippedSteps(decided)
  if (rest.length === 0) return steps
  return [...steps, ...wrapText(`  · skipped: ${rest.join(', ')}`, layout.width).map(layout.style.dim)]
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

function approvalRows(history: CallHistory, rules: Explanation['rules']): readonly Row[] {
  const { asked, answered, expired } = history
  if (asked === undefined) return []
  const question = [
    `asked at ${formatLocalTime(asked.time)}${formatAskReason(history)}`,
    ...formatAskRule(history, rules),
  ]
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

/** The rule that asked for approval, unless a step shows it already. */
function formatAskRule({ asked, decided }: CallHistory, rules: Explanation['rules']): readonly string[] {
  const rule = asked?.rule
  if (asked === undefined || rule === undefined) return []
  const isNamed = (other: RuleSource | undefined): boolean => other?.file === rule.file && other.line === rule.line
  if (isNamed(decided?.decided_by?.rule) || isNamed(decided?.rules?.approve)) return []
  return describeRule(rule, { time: asked.time, rules }).map((line) => `  ${line}`)
}

function questionRows({ questions }: CallHistory): readonly Row[] {
  const lines = questions.map((event) => {
    if (event.type === 'CLIENT_ASKED') return `its server sent ${visibleLine(event.method)} to the client`
    return `${event.success ? 'answered' : 'not answered'} after ${formatDuration(event.latency_ms)}`
  })
  return lines.length === 0 ? [] : [['questions', lines]]
}

function connectionRows({ connections }: CallHistory): readonly Row[] {
  if (connections.length === 0) return []
  const lines = connections.slice(0, MAX_LINES).map((event) => visibleLine(formatConnection(event)))
  const more = connections.length - lines.length
  return [['connections', more > 0 ? [...lines, `… and ${more} more: --json shows them`] : lines]]
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
  if (ended?.instance !== undefined) rows.push(['instance', [ended.instance]])
  if (ended?.resent) rows.push(['sent', ['twice: its server had forgotten the session, and did not carry it out']])
  if (ended?.type === 'TOOL_CALL_COMPLETED') rows.push(['answer', [sizeText(ended)]])
  if (ended?.returned !== undefined) rows.push(['returned', describeReturned(ended)])
  const failed = decided?.type === 'POLICY_DENIED' ? decided : ended?.type === 'TOOL_CALL_FAILED' ? ended : undefined
  if (failed === undefined) return rows
  const isShown = [denialReason(decided), expired?.reason].includes(failed.message)
  if (!isShown) rows.push(['error', [`${visibleLine(failed.error)}: ${visibleLine(failed.message)}`]])
  const fix = findFix(failed.error, failed)
  if (fix !== undefined) rows.push(['what to do', [visibleLine(fix)]])
  return rows
}

const sizeText = ({ bytes, tokens_estimated: tokens }: EventOfType<'TOOL_CALL_COMPLETED'>): string =>
  tokens === undefined ? `${bytes} bytes` : `${bytes} bytes, about ${tokens} tokens`

const denialReason = (decided: DecisionEvent | undefined): string | undefined =>
  decided?.type === 'POLICY_DENIED' ? decided.decided_by?.reason : undefined

/** On one line if they fit. */
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

const asIs = (text: string): string => text

function factLines(rows: readonly Row[], { style, width, withFolders = asIs }: TextLayout): readonly string[] {
  const names = Math.max(...rows.map(([name]) => name.length))
  const indent = ' '.repeat(names + GAP.length)
  const room = width === undefined ? undefined : width - indent.length
  return rows.flatMap(([name, lines]) =>
    lines
      .flatMap((line) => wrapText(withFolders(line), room))
      .map((line, at) => (at === 0 ? `${style.dim(name.padEnd(names))}${GAP}${line}` : indent + line)),
  )
}

const STRATEGY_TEXTS: Readonly<Record<string, string>> = {
  shaped: 'shaped by its preset or context.cap',
  bounded: 'isolated by the strategy bounded',
  extract: 'isolated by the strategy extract: the answer of a model',
  agent: 'isolated by the strategy agent',
}

/** Describes which part of a result reached its caller; empty if the caller got all of it. */
function describeReturned(ended: CallEndEvent): readonly string[] {
  const { returned } = ended
  if (returned === undefined) return []
  const shown = ended.type === 'TOOL_CALL_FAILED' ? 'nothing' : `${returned.bytes} bytes`
  const lines = [`${shown}, ${describeStrategy(returned)}`, `about ${returned.tokens_kept} tokens were saved`]
  return [...lines, ...describeFallback(returned, ended), ...modelText(returned), ...wholeText(returned)].map(
    visibleLine,
  )
}

const describeStrategy = ({ strategy, fell_back }: ReturnedFacts): string =>
  fell_back === undefined ? (STRATEGY_TEXTS[strategy] ?? strategy) : `bounded instead of the strategy ${strategy}`

function describeFallback({ fell_back }: ReturnedFacts, about: CallEndEvent): readonly string[] {
  if (fell_back === undefined) return []
  const fix = findFix(fell_back as ErrorCode, about)
  return [`it fell back because of ${fell_back}${fix === undefined ? '' : `. ${fix}`}`]
}

function modelText({ turns, tokens_in = 0, tokens_out = 0 }: ReturnedFacts): readonly string[] {
  if (turns === undefined) return []
  return [`${turns} ${turns === 1 ? 'turn' : 'turns'} of a model, ${tokens_in} tokens in, ${tokens_out} out`]
}

const wholeText = ({ handle }: ReturnedFacts): readonly string[] =>
  handle === undefined ? [] : [`its session can read the full result as ${handle}`]

/** The decision of one step, and the rule behind it. */
interface StepLine {
  readonly step: StepName
  readonly mark: string
  readonly paint: (text: string) => string
  readonly reason: string
  readonly notes: readonly string[]
}

/** Why a step passed, for readers who do not know the steps. */
const PASSED_REASONS: Readonly<Record<StepName, string>> = {
  select: 'it is offered to this caller',
  mode: 'the mode allows it',
  pin: 'its definition is the reviewed one, if any was reviewed',
  validate: 'the arguments match the input schema of the tool',
  label: 'the session may use it',
  arguments: 'no rule forbids these arguments, and they contain no secret',
  limits: 'not too many calls at once or in a short time',
  approve: 'no approval is needed',
}

interface StepView {
  readonly decided: DecisionEvent
  readonly rules: Explanation['rules']
  readonly style: Style
}

function buildStepLines(view: StepView): readonly StepLine[] {
  const { steps } = view.decided
  return STEP_NAMES.flatMap((step) => {
    const outcome = steps[step]
    return outcome === undefined ? [] : [buildStepLine(step, outcome, view)]
  })
}

/** After a refusal the remaining steps are skipped. */
const listSkippedSteps = ({ steps }: DecisionEvent): readonly StepName[] =>
  STEP_NAMES.filter((step) => steps[step] === undefined)

function buildStepLine(step: StepName, outcome: string, view: StepView): StepLine {
  const { decided, style } = view
  const by = decided.decided_by?.step === step ? decided.decided_by : undefined
  const rule = by?.rule ?? decided.rules?.[step]
  const notes = rule ? describeRule(rule, { time: decided.time, rules: view.rules }) : []
  if (outcome === 'deny')
    return { step, mark: '✗', paint: style.red, reason: visibleLine(by?.reason ?? 'refused'), notes }
  if (outcome === 'ask')
    return { step, mark: '?', paint: style.yellow, reason: visibleLine(by?.reason ?? 'asks'), notes }
  if (outcome.startsWith('not enforced: '))
    return { step, mark: '!', paint: style.yellow, reason: visibleLine(outcome), notes }
  return {
    step,
    mark: '✓',
    paint: style.green,
    reason: outcome === 'allow' ? PASSED_REASONS[step] : visibleLine(outcome),
    notes,
  }
}

/** The location of the rule, the text at that line now, and a note if the file has changed since the decision. */
function describeRule({ file, line }: RuleSource, { time, rules }: RuleView): readonly string[] {
  if (line === 0) return [visibleLine(file)]
  const location = visibleLine(`${file}:${line}`)
  const now = rules.find((rule) => rule.file === file && rule.line === line)
  if (now?.text === undefined) return [location, '  (that line is no longer there)']
  const { text, changed = time } = now
  const isChanged = Date.parse(changed) > Date.parse(time)
  const note = isChanged ? [`  (the file was changed since, at ${formatLocalTime(changed)})`] : []
  return [location, `  ${visibleLine(text)}`, ...note]
}

interface RuleView {
  /** When the rule decided. */
  readonly time: string
  readonly rules: Explanation['rules']
}

/** What to do about a failure when only its code was recorded. */
const FIXES: Readonly<Partial<Record<ErrorCode, string>>> = {
  TOOL_UNKNOWN: 'See `sallyport tools` for the tools that are offered.',
  CALL_DENIED: 'Change the rule that decided, if the call should be allowed.',
  MODE_FORBIDS: '`sallyport mode` shows which mode is in force, why, and how to leave it.',
  DEFINITION_CHANGED: 'See what has changed, and accept it if it is harmless: `sallyport tools accept <tool>`.',
  COUNTERPART_DIFFERS:
    'Run the same version of the server in both of its instances: `sallyport servers <name>` shows how they differ.',
  ARGUMENTS_INVALID: 'The caller has to send the arguments that the tool expects: `sallyport tools show <tool>`.',
  ARGUMENTS_UNCHECKED:
    'Try again after a minute, with smaller arguments. If that fails, its server needs a simpler input schema.',
  ARGUMENTS_FORBIDDEN: 'Change the rule that decided, if such arguments should be allowed.',
  PAGE_REFUSED: 'Its server asks for a page that nobody should be sent to: ask its author for a plain https address.',
  SECRET_REFUSED:
    'Give the key to the server in config.yaml. If a tool really needs one: `secrets: allow` in its entry.',
  RATE_LIMITED: 'Too many calls in a short time: try again later, or raise the limit in its entry.',
  APPROVAL_REQUIRED: 'Somebody has to approve such calls first.',
  APPROVAL_DENIED: 'It was not made. A later call needs approval again.',
  APPROVAL_PENDING: 'Its agent cannot wait that long: the request stays pending until the same call is made again.',
  APPROVAL_EXPIRED:
    '`sallyport approvals` shows pending requests; governance.approval_timeout sets how long they wait.',
  AUDIT_UNAVAILABLE: 'Check that the disk of the state folder has free space and is writable: `sallyport doctor`.',
  RESULT_WITHHELD: 'The call was made: check what it did before you make it again.',
  OVERLOADED: 'Too much ran at once: try again, or raise gateway.max_calls_in_flight.',
  UPSTREAM_STARTING: 'The server was still starting: try again.',
  UPSTREAM_RESTARTING: 'The server was being restarted: try again.',
  UPSTREAM_BROKEN: 'See `sallyport servers <name>` for why its server does not stay up.',
  UPSTREAM_UNAVAILABLE: 'See `sallyport servers <name>` for why its server cannot be reached.',
  UPSTREAM_DISABLED: 'Its server is switched off: set `enabled: true` in config.yaml.',
  UPSTREAM_NEEDS_LOGIN: 'Its server requires a login: see `sallyport servers <name>`.',
  UPSTREAM_NARROWED:
    'Its process had to end, since its session may reach less now. Make the call again, if twice does no harm.',
  UPSTREAM_GONE: 'Its server had ended before the call was sent: try again.',
  UPSTREAM_DIED: 'Its server ended in the middle of the call: see `sallyport servers <name>` for its last messages.',
  UPSTREAM_TIMEOUT:
    'It took too long: raise timeout_seconds of its entry or the timeout of its server, whichever it reached, or ask for less.',
  UPSTREAM_TOO_LARGE: 'Ask for less, or raise the limit on message size of its server in config.yaml.',
  UPSTREAM_PROTOCOL: 'Its server violates the protocol: see `sallyport servers <name>`, and update it.',
  ISOLATION_FAILED: 'The model gave no useful answer: try another in isolation.model, or the strategy bounded.',
  ISOLATION_LIMIT: 'It used up its turns, tokens or time: raise isolation.max_turns, max_tokens or max_time.',
  MODEL_UNAVAILABLE: 'Set isolation.model to one that can be reached, or use the strategy bounded.',
  EXECUTOR_MISSING: 'Enable agents.mcp-executor in config.yaml, or use another strategy.',
  CALL_CANCELLED: 'The client stopped waiting, or the gateway ended: check what it did before you make it again.',
  INTERNAL: 'This is a bug in Sallyport: please report it.',
}

function findFix(code: ErrorCode, about: { readonly tool_name: string; readonly server: string }): string | undefined {
  const { tool_name, server } = about
  return FIXES[code]?.replace('<tool>', () => quoteForShell(tool_name)).replace('<name>', () => quoteForShell(server))
}

/** The answer to a request for approval, as text. */
/** What a program in a sandbox wanted to reach, and whether it did. */
export const formatConnection = ({ host, port, allowed, reason, count }: EventOfType<'EGRESS_DECIDED'>): string =>
  `${host}:${port} ${allowed ? 'allowed' : 'refused'}${count === undefined ? '' : ` ${count} more times`}: ${reason}`

export const APPROVAL_OUTCOMES = {
  deny: 'refused',
  once: 'approved once',
  session: 'approved for the session',
  always: 'approved for good',
} as const

/** A note about an `always` answer whose rule could not be written. */
export const formatUnwrittenRule = (why: string | undefined): string =>
  why === undefined ? '' : `; the answer was "always", but the rule was not written: ${why}`
