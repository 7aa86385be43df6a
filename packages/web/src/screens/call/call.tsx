import { useQuery } from '@tanstack/react-query'
import { ChevronRight, RotateCcw } from 'lucide-react'
import { Link, useParams, useSearchParams } from 'react-router'
import type { EventView, Explanation } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { toEvents } from '../../api/events.ts'
import { Command } from '../../parts/command.tsx'
import { ForeignName, ForeignText } from '../../parts/foreign-text.tsx'
import { cutShort, formatClock, formatMs, formatRule, formatWhen } from '../../parts/format.ts'
import { Page, Panel } from '../../parts/page.tsx'
import { VerdictMark } from '../../parts/signs.tsx'
import { Loaded } from '../../parts/states.tsx'
import { Arguments } from '../approvals/arguments.tsx'
import { addEvents, type LiveCall } from '../live/calls.ts'
import { EgressPanel } from './egress-panel.tsx'
import { ResultPanel } from './result-panel.tsx'
import { Steps } from './steps.tsx'
import { buildTimeline, findDecision, type Timeline } from './timeline.ts'
import { TodayPanel } from './today-panel.tsx'
import '../approvals/approvals.css'
import './call.css'

/** One call: what was decided about it, by which rule, and what came back. */
export function Call() {
  const { id = '' } = useParams()
  const query = useQuery({
    queryKey: ['calls', id],
    queryFn: async () => (await read(api.explain[':id'].$get({ param: { id } }))) as unknown as Explanation,
  })
  return (
    <Loaded query={query} what="the records of the call">
      {(explanation) => <CallPage explanation={explanation} />}
    </Loaded>
  )
}

function CallPage({ explanation: { calls, rules } }: { readonly explanation: Explanation }) {
  const [search, setSearch] = useSearchParams()
  const [found] = calls
  const records = toEvents(found?.records ?? [])
  const [call] = addEvents([], records)
  if (found === undefined || call === undefined) return null
  const facts = findDecision(records)
  const end = records.findLast(({ type }) => type === 'TOOL_CALL_COMPLETED' || type === 'TOOL_CALL_FAILED')
  const timeline = buildTimeline(records)
  const isAgain = search.has('again')
  return (
    <Page
      tab={`Call ${found.call_id.slice(0, 8)}`}
      title={<ForeignName name={call.name} />}
      crumb={
        <Link className="crumb" to="/live">
          Live <ChevronRight className="i i-s" aria-hidden="true" />
        </Link>
      }
      lead={<Lead call={call} first={records[0] as Caller} id={found.call_id} />}
      actions={
        <>
          <Command text={`sallyport explain ${found.call_id.slice(0, 8)}`} />
          {!isAgain && facts && (
            <button className="btn" type="button" onClick={() => setSearch({ again: '' }, { replace: true })}>
              <RotateCcw className="i" aria-hidden="true" /> Decide again
            </button>
          )}
        </>
      }
    >
      <div className="stack">
        <Outcome call={call} told={facts?.type === 'POLICY_DENIED' ? facts.message : undefined} timeline={timeline} />
        {isAgain && <TodayPanel callId={found.call_id} />}
        {(facts ?? timeline.stages[0]) && <Steps facts={facts} timeline={timeline} isFailed={call.kind === 'failed'} />}
        <div className="half">
          <Rules rules={rules} />
          {facts?.arguments !== undefined && (
            <Panel title="Arguments" sub="as they were recorded">
              <div className="pad">
                <Arguments value={facts.arguments} />
              </div>
            </Panel>
          )}
          {end && <ResultPanel end={end as Parameters<typeof ResultPanel>[0]['end']} />}
          <EgressPanel records={records} />
        </div>
        <Records records={records} />
      </div>
    </Page>
  )
}

type Caller = EventView & { readonly user?: string; readonly session?: string }

interface LeadProps {
  readonly call: LiveCall
  readonly first: Caller
  readonly id: string
}

const Lead = ({ call, first: { user = '', session = '' }, id }: LeadProps) => (
  <>
    <ForeignText text={cutShort(call.agent)} /> · <ForeignText text={cutShort(user)} /> · session{' '}
    <Link to={`/sessions/${encodeURIComponent(session)}`}>
      <ForeignText text={cutShort(session)} />
    </Link>{' '}
    · {formatWhen(call.time)} · call <code>{id}</code>
  </>
)

const SENTENCES: Readonly<Record<LiveCall['kind'], string>> = {
  allow: 'Allowed, and answered.',
  ask: 'It waits for a person.',
  deny: 'Refused. It was never sent.',
  would: 'Allowed: the rule against it is only watched.',
  failed: 'It failed.',
  expired: 'Refused: nobody answered in time.',
  running: 'Allowed, and still running.',
  off: '',
}

interface OutcomeProps {
  readonly call: LiveCall
  /** What the agent got instead of an answer. */
  readonly told: string | undefined
  readonly timeline: Timeline
}

const HOLDERS = { gateway: ['g', 'gateway'], person: ['p', 'person'], server: ['s', 'server'] } as const

const Outcome = ({ call: { kind, why, rule }, told, timeline }: OutcomeProps) => (
  <section className="panel">
    <div className="verdict">
      <VerdictMark kind={kind} className="big" />
      <div>
        <p>{SENTENCES[kind]}</p>
        <p className="muted">
          <ForeignText text={why} limit={500} /> {rule && <code>{formatRule(rule)}</code>}
        </p>
        {told !== undefined && (
          <p className="small muted">
            The agent was told: “<ForeignText text={told} limit={500} />”
          </p>
        )}
      </div>
      <ul className="actions shares" aria-label="Who had the call, and how long">
        {timeline.shares.map(({ holder, ms }) => (
          <li className="key" key={holder}>
            <svg viewBox="0 0 12 12" aria-hidden="true">
              <rect className={HOLDERS[holder][0]} width="12" height="12" />
            </svg>
            {HOLDERS[holder][1]} {formatMs(ms)}
          </li>
        ))}
      </ul>
    </div>
  </section>
)

function Rules({ rules }: Pick<Explanation, 'rules'>) {
  if (rules.length === 0) return null
  return (
    <Panel title="The rules that decided" sub="as the files are now">
      {rules.map(({ file, line, text, changed }) => (
        <div className="pad stack-s" key={`${file}:${line}`}>
          <p className="small faint">
            <code>
              {file}:{line}
            </code>{' '}
            {changed !== undefined && <>· changed {formatWhen(changed)}</>}
          </p>
          <pre className="code soft">
            <span className="hit">
              <span className="ln">{line}</span> <ForeignText text={text ?? 'This line does not exist any more.'} />
            </span>
          </pre>
        </div>
      ))}
    </Panel>
  )
}

const Records = ({ records }: { readonly records: readonly EventView[] }) => (
  <Panel title="Records" sub="everything that was written about it">
    <ul>
      {records.map(({ seq, time, type, ...rest }) => (
        <li key={seq}>
          <details className="record">
            <summary>
              <time className="faint">{formatClock(time, 'ms')}</time> {type.toLowerCase().replaceAll('_', ' ')}
            </summary>
            <pre className="code code-plain soft">
              <span>
                <ForeignText text={JSON.stringify(rest, null, 2)} limit={4_000} />
              </span>
            </pre>
          </details>
        </li>
      ))}
    </ul>
  </Panel>
)
