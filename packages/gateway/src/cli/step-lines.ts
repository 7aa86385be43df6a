import { type RuleSource, STEP_NAMES, type StepName } from '@sallyport/core'
import type { DecisionEvent } from './call-story.ts'
import type { Explanation } from './gateway-client.ts'
import { formatLocalTime } from './local-time.ts'
import { type Style, visibleLine } from './terminal-text.ts'

/** One line of judgement, and what it went by. */
export interface StepLine {
  readonly step: StepName
  readonly mark: string
  readonly paint: (text: string) => string
  readonly reason: string
  readonly notes: readonly string[]
}

/** What a step says yes to, for whoever does not know the steps. */
const PASSED_REASONS: Readonly<Record<StepName, string>> = {
  select: 'it is offered to this caller',
  mode: 'the mode leaves it open',
  pin: 'its definition is the one that was reviewed, if any was',
  validate: 'the arguments are what the tool takes',
  permission: 'what it may do is permitted',
  label: 'the session may use it',
  arguments: 'no rule is against these arguments, and no secret is in them',
  limits: 'not too many calls at once, nor too often',
  approve: 'nobody has to be asked',
}

export interface StepView {
  readonly decided: DecisionEvent
  readonly rules: Explanation['rules']
  readonly style: Style
}

export function buildStepLines(view: StepView): readonly StepLine[] {
  const { steps } = view.decided
  return STEP_NAMES.flatMap((step) => {
    const said = steps[step]
    return said === undefined ? [] : [buildStepLine(step, said, view)]
  })
}

/** After a refusal the rest is not asked. */
export const listSkippedSteps = ({ steps }: DecisionEvent): readonly StepName[] =>
  STEP_NAMES.filter((step) => steps[step] === undefined)

function buildStepLine(step: StepName, said: string, view: StepView): StepLine {
  const { decided, style } = view
  const by = decided.decided_by?.step === step ? decided.decided_by : undefined
  const rule = by?.rule ?? decided.rules?.[step]
  const notes = rule ? describeRule(rule, { time: decided.time, rules: view.rules }) : []
  if (said === 'deny') return { step, mark: '✗', paint: style.red, reason: visibleLine(by?.reason ?? 'refused'), notes }
  if (said === 'ask') return { step, mark: '?', paint: style.yellow, reason: visibleLine(by?.reason ?? 'asks'), notes }
  if (said.startsWith('not enforced: '))
    return { step, mark: '!', paint: style.yellow, reason: visibleLine(said), notes }
  return {
    step,
    mark: '✓',
    paint: style.green,
    reason: said === 'allow' ? PASSED_REASONS[step] : visibleLine(said),
    notes,
  }
}

/** Where the rule stands, what stands there now, and whether that need be what stood there then. */
export function describeRule({ file, line }: RuleSource, { time, rules }: RuleView): readonly string[] {
  if (line === 0) return [visibleLine(file)]
  const place = visibleLine(`${file}:${line}`)
  const now = rules.find((rule) => rule.file === file && rule.line === line)
  if (now?.text === undefined) return [place, '  (that line is no longer there)']
  const { text, changed = time } = now
  const isChanged = Date.parse(changed) > Date.parse(time)
  const note = isChanged ? [`  (the file was changed since, at ${formatLocalTime(changed)})`] : []
  return [place, `  ${visibleLine(text)}`, ...note]
}

interface RuleView {
  /** When the rule decided. */
  readonly time: string
  readonly rules: Explanation['rules']
}
