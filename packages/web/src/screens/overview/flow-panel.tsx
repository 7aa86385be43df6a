import type { Overview } from '../../../../gateway/src/serve/api/api.ts'
import { Command } from '../../parts/command.tsx'
import { ForeignName } from '../../parts/foreign-text.tsx'
import { formatCount, formatNumber } from '../../parts/format.ts'
import { Panel } from '../../parts/page.tsx'
import { revealText } from '../../parts/reveal-text.ts'
import { type Band, FLOW, layoutFlow } from './flow-layout.ts'

type Day = NonNullable<Overview['day']>

interface FlowPanelProps {
  readonly day: Day
  /** Calls that wait for a person now. */
  readonly waiting: number
}

/** Today’s calls on their way from agents to servers: through the rules, and past people. */
export function FlowPanel({ day, waiting }: FlowPanelProps) {
  const { counts, flow, answers } = day
  const asked = counts.calls + counts.refused + waiting
  return (
    <Panel
      title="The door"
      sub={asked > 0 && `${formatNumber(counts.calls)} of ${formatCount(asked, 'call')} reached a server today`}
    >
      {asked === 0 ? (
        <div className="pad stack-s">
          <p className="muted">No agent has called today. Start one with the gateway’s tools:</p>
          <Command text="sallyport run claude-code" />
        </div>
      ) : (
        <div className="pad">
          <Door day={day} waiting={waiting} />
          <dl className="door-list">
            <Names title="From" names={flow.agents} />
            <Names title="To" names={flow.servers} />
            <div>
              <dt>On the way</dt>
              <dd>{describePeople({ counts, answers, waiting })}</dd>
            </div>
          </dl>
        </div>
      )}
    </Panel>
  )
}

const Names = ({ title, names }: { readonly title: string; readonly names: Day['flow']['agents'] }) => (
  <div>
    <dt>{title}</dt>
    {names.map(({ name, calls }) => (
      <dd key={name}>
        <ForeignName name={name} /> <span className="muted">{formatNumber(calls)}</span>
      </dd>
    ))}
  </div>
)

const describePeople = ({ counts, answers, waiting }: Pick<Day, 'counts' | 'answers'> & { waiting: number }): string =>
  [
    `${formatNumber(refusedByRules({ counts, answers }))} refused by the rules`,
    `${formatNumber(counts.approvalsRequested)} asked about`,
    `${formatNumber(answers.approved)} approved`,
    `${formatNumber(answers.denied + answers.expired)} not approved`,
    ...(waiting > 0 ? [`${formatNumber(waiting)} waiting`] : []),
  ].join(', ')

/** What a person did not approve is recorded as a refusal, too. */
const refusedByRules = ({ counts, answers }: Pick<Day, 'counts' | 'answers'>): number =>
  Math.max(0, counts.refused - answers.denied - answers.expired)

const MAX_MARKS = 5
const TEXT_GAP = 9
/** In thinner bands there is no room for a text. */
const MIN_TEXT = 24

function Door({ day, waiting }: FlowPanelProps) {
  const { counts, flow, answers } = day
  const refused = refusedByRules(day)
  const asked = answers.approved + answers.denied + answers.expired + waiting
  const {
    agents,
    servers,
    passed,
    asked: askedBand,
    refused: refusedBand,
  } = layoutFlow({
    ...{ ...flow, refused, asked },
    calls: counts.calls + counts.refused - refused + waiting,
  })
  const [first, second, inner] = [FLOW.rules, FLOW.people, FLOW.people - FLOW.rules - FLOW.gate]
  const height = Math.max(FLOW.height, ...[...agents, ...servers].map(({ nodeTop }) => nodeTop + 34))
  const middle = first + FLOW.gate + inner / 2
  const bottom = refusedBand.y + refusedBand.height
  return (
    <svg
      className="door"
      viewBox={`0 0 ${FLOW.width} ${height}`}
      role="img"
      aria-label={`Calls of today: ${describePeople({ counts, answers, waiting })}`}
    >
      <rect className="d-room" x={first} y="16" width={second - first + FLOW.gate} height={height - 24} rx="4" />
      {agents.map((band) => (
        <Side
          key={band.name}
          band={band}
          nodeX={FLOW.left - FLOW.gate}
          textX={FLOW.left - FLOW.gate - TEXT_GAP}
          isStart
        />
      ))}
      <rect className="d-flow" x={first} y={passed.y} width={inner + FLOW.gate} height={passed.height} />
      <rect className="d-ask" x={first} y={askedBand.y} width={inner + FLOW.gate} height={askedBand.height} />
      <rect className="d-deny" x={first - 46} y={refusedBand.y} width="46" height={refusedBand.height} />
      {servers.map((band) => (
        <Side key={band.name} band={band} nodeX={FLOW.right} textX={FLOW.right + FLOW.gate + TEXT_GAP} />
      ))}
      {[first, second].map((x) => (
        <rect key={x} className="d-gate" x={x} y="16" width={FLOW.gate} height={height - 24} rx="2" />
      ))}
      <text className="d-head" x={first + 2} y="9" textAnchor="middle">
        rules
      </text>
      <text className="d-head" x={second + 2} y="9" textAnchor="middle">
        people
      </text>
      {counts.calls > 0 && (
        <text
          className="d-n"
          x={middle}
          y={passed.height < MIN_TEXT ? 32 : passed.y + passed.height / 2 + 4}
          textAnchor="middle"
        >
          {formatNumber(counts.calls)} allowed
        </text>
      )}
      {Array.from({ length: Math.min(MAX_MARKS, waiting) }, (_, index) => (
        <path
          // biome-ignore lint/suspicious/noArrayIndexKey: a drawing.
          key={index}
          className="d-askmark"
          d={`M${second - 16 - index * 15} ${askedBand.y + askedBand.height / 2 - 6}l6 6-6 6-6-6z`}
        />
      ))}
      {asked > 0 && (
        <text className={waiting > 0 ? 'd-ask-t' : 'd-n'} x={first + 18} y={bottom + 18}>
          {waiting > 0
            ? `${formatNumber(waiting)} ${waiting === 1 ? 'waits' : 'wait'} in between`
            : `${formatNumber(asked)} asked about`}
        </text>
      )}
      {refused > 0 && (
        <text className="d-bad-t" x={first - 10} y={bottom + 18} textAnchor="end">
          {formatNumber(refused)} refused
        </text>
      )}
    </svg>
  )
}

interface SideProps {
  readonly band: Band
  readonly nodeX: number
  readonly textX: number
  readonly isStart?: boolean
}

function Side({ band: { name, calls, y, nodeTop, height, path }, nodeX, textX, isStart = false }: SideProps) {
  const anchor = isStart ? 'end' : 'start'
  return (
    <>
      <path className="d-flow" d={path} />
      <rect className="d-node" x={nodeX} y={nodeTop} width={FLOW.gate} height={height} rx="1" />
      <text x={textX} y={y} textAnchor={anchor}>
        {shorten(name)}
      </text>
      <text className="d-n" x={textX} y={y + 14} textAnchor={anchor}>
        {formatNumber(calls)}
      </text>
    </>
  )
}

const MAX_NAME = 13

/** Names come from tokens and files; hidden characters become their numbers. */
function shorten(name: string): string {
  const shown = revealText(name)
    .map((piece) => (piece.kind === 'plain' ? piece.text : piece.code))
    .join('')
  return shown.length > MAX_NAME ? `${shown.slice(0, MAX_NAME - 1)}…` : shown
}
