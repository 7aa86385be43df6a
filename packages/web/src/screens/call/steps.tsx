import type { ReactNode } from 'react'
import type { EventView } from '../../../../gateway/src/serve/api/api.ts'
import { ForeignText } from '../../parts/foreign-text.tsx'
import { formatMs, formatRule } from '../../parts/format.ts'
import { Panel } from '../../parts/page.tsx'
import { type VerdictKind, VerdictMark } from '../../parts/signs.tsx'
import { type Bar, drawBars, type Stage, type Timeline } from './timeline.ts'

type Facts = Extract<EventView, { type: 'TOOL_CALL_STARTED' | 'POLICY_DENIED' }>

const KINDS: Readonly<Record<string, VerdictKind>> = { allow: 'allow', ask: 'ask', deny: 'deny' }

interface StepsProps {
  readonly facts: Facts | undefined
  readonly timeline: Timeline
  readonly isFailed: boolean
}

/** The verdict of each step, in the order in which they were asked, and where the time of the call went. */
export function Steps({ facts, timeline, isFailed }: StepsProps) {
  const bars = drawBars(timeline)
  const hasCut = bars.some(({ isCut }) => isCut)
  const lanes = new Map(timeline.stages.map((stage, index) => [stage, bars[index] as Bar]))
  const [deciding, later] = [
    timeline.stages.filter(({ id }) => id === 'decide'),
    timeline.stages.filter(({ id }) => id !== 'decide'),
  ]
  const row = (stage: Stage) => (
    <StageRow key={`${stage.id} ${stage.at}`} stage={stage} bar={lanes.get(stage) as Bar} isFailed={isFailed} />
  )
  return (
    <Panel
      title="Steps"
      sub={`in the order in which they were asked${hasCut ? '; the wait is cut short in the drawing' : ''}`}
    >
      <ol className="fall">
        {deciding.map(row)}
        {facts && <Decision facts={facts} />}
        {later.map(row)}
        {facts?.type === 'POLICY_DENIED' && (
          <Row kind="off" name="run" isOff>
            not sent
          </Row>
        )}
      </ol>
    </Panel>
  )
}

function Decision({ facts }: { readonly facts: Facts }) {
  return groupSteps(facts).map((group) => {
    const [only] = group
    if (only === undefined) return null
    if (only.isPlain)
      return (
        <li className="step is-inner is-plain" key={only.step}>
          <VerdictMark kind="allow" />
          <span>
            {group.map(({ step }) => step).join(', ')} <span className="faint">nothing against it</span>
          </span>
        </li>
      )
    const { step, kind, said, rule, isKey } = only
    return (
      <Row key={step} kind={kind} name={step} isKey={isKey} isInner>
        <ForeignText text={said} limit={400} />
        {rule && (
          <code className="faint" title={rule.file}>
            {' '}
            {formatRule(rule)}
          </code>
        )}
      </Row>
    )
  })
}

/** Steps that had nothing to say are told together. */
function groupSteps(facts: Facts): readonly (readonly StepFacts[])[] {
  const groups: StepFacts[][] = []
  for (const step of readSteps(facts)) {
    const last = groups.at(-1)
    if (step.isPlain && last?.[0]?.isPlain) last.push(step)
    else groups.push([step])
  }
  return groups
}

interface StepFacts {
  readonly step: string
  readonly kind: VerdictKind
  readonly said: string
  readonly rule: { readonly file: string; readonly line: number } | undefined
  readonly isKey: boolean
  readonly isPlain: boolean
}

const readSteps = ({ steps, decided_by: decided, rules, would }: Facts): readonly StepFacts[] =>
  Object.entries(steps).map(([step, outcome = '']) => {
    const isDeciding = decided?.step === step
    const isWould = would?.step === step
    const kind = isWould ? 'would' : (KINDS[outcome] ?? 'allow')
    const rule = isDeciding ? decided?.rule : rules?.[step as keyof typeof rules]
    const own = KINDS[outcome] ? '' : outcome
    const said = (isDeciding ? decided?.reason : isWould ? would.reason : own) ?? own
    const isPlain = kind === 'allow' && said === '' && rule === undefined
    return { step, kind, said, rule, isKey: isDeciding && kind !== 'allow', isPlain }
  })

interface RowProps {
  readonly kind: VerdictKind
  readonly name: string
  readonly isKey?: boolean
  readonly isInner?: boolean
  readonly isOff?: boolean
  readonly lane?: ReactNode
  readonly children: ReactNode
}

function Row({ kind, name, isKey = false, isInner = false, isOff = false, lane, children }: RowProps) {
  const stress = isKey ? (kind === 'deny' ? 'is-stop' : 'is-key') : ''
  return (
    <li className={`step ${stress} ${isInner ? 'is-inner' : ''} ${isOff ? 'is-off' : ''}`}>
      <VerdictMark kind={kind} />
      <b>{name}</b>
      <span className="say">{children}</span>
      {lane}
    </li>
  )
}

interface StageRowProps {
  readonly stage: Stage
  readonly bar: Bar
  readonly isFailed: boolean
}

const STAGE_KINDS = { decide: 'off', wait: 'ask', send: 'allow', answer: 'off', return: 'off' } as const
const FILLS = { gateway: 'g', person: 'p', server: 's' } as const

const StageRow = ({ stage: { id, holder, title, detail, ms }, bar, isFailed }: StageRowProps) => (
  <Row
    kind={id === 'send' && isFailed ? 'failed' : STAGE_KINDS[id]}
    name={title}
    lane={
      <div className="lane">
        <svg className="wf" viewBox="0 0 100 14" preserveAspectRatio="none" aria-hidden="true">
          <rect className="base" y="6" width="100" height="2" />
          <rect className={FILLS[holder]} x={bar.x} y="1" width={bar.width} height="12" rx="1" />
          {bar.isCut && (
            <path
              className="brk"
              d={`M${bar.x + bar.width / 2} 16l2-18M${bar.x + bar.width / 2 + 2} 16l2-18`}
              vectorEffect="non-scaling-stroke"
            />
          )}
        </svg>
        <span>{formatMs(ms)}</span>
      </div>
    }
  >
    <ForeignText text={detail} limit={300} />
  </Row>
)
