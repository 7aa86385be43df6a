import { useQuery } from '@tanstack/react-query'
import { Link, useSearchParams } from 'react-router'
import type { SavingsHistory } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { Figures } from '../../parts/figures.tsx'
import { formatClock, formatNumber, formatShort } from '../../parts/format.ts'
import { Page, Panel } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { buildBuckets, findStart, RANGES, type Range } from './buckets.ts'
import { ProfileSavings, ToolSavings } from './savings-tables.tsx'
import { TimeChart } from './time-chart.tsx'
import './savings.css'

/** Tokens that did not go into the context of an agent: `/savings?range=today`. */
export function Savings() {
  const [search] = useSearchParams()
  const wanted = search.get('range')
  const range = RANGES.find(({ id }) => id === wanted) ?? RANGES[1]
  const since = findStart(range, new Date()).toISOString()
  const query = useQuery({
    queryKey: ['savings', since],
    queryFn: () => read(api.savings.history.$get({ query: { since } })),
  })
  return (
    <Page
      title="Savings"
      lead="Tokens that did not go into an agent’s context. Estimates, to compare tools and agents with each other."
      actions={
        <nav className="segment" aria-label="Range">
          {RANGES.map(({ id, title }) => (
            <Link key={id} to={`/savings?range=${id}`} replace aria-current={id === range.id ? 'page' : undefined}>
              {title}
            </Link>
          ))}
        </nav>
      }
    >
      <Loaded query={query} what="the savings">
        {(history) =>
          history.total.calls === 0 ? <NoCalls /> : <SavingsBody history={history} range={range} since={since} />
        }
      </Loaded>
    </Page>
  )
}

const NoCalls = () => (
  <Empty title="Nothing to show yet" command="sallyport tools cost">
    No agent has called a tool in this time. What the definitions of the tools cost can be seen now:
  </Empty>
)

interface BodyProps {
  readonly history: SavingsHistory
  readonly range: Range
  readonly since: string
}

function SavingsBody({ history, range, since }: BodyProps) {
  const { total, hours, tools, profiles } = history
  return (
    <div className="stack">
      <Total total={total} />
      <TimeChart buckets={buildBuckets(hours, range, new Date(since))} range={range} />
      <div className="half">
        <ToolSavings tools={tools} />
        <ProfileSavings profiles={profiles} />
      </div>
      <Method total={total} counted={history.counted} />
    </div>
  )
}

function Total({ total }: Pick<SavingsHistory, 'total'>) {
  const { shaped, isolated, selected, reached } = total
  const kept = shaped + isolated + selected
  const share = kept + reached === 0 ? 0 : Math.round((100 * reached) / (kept + reached))
  const figures = [
    ['Kept out', kept, 'tokens'],
    ['By shaping', shaped, ''],
    ['By context isolation', isolated, ''],
    ['By selection, at least', selected, ''],
    ['Reached agents', reached, `${share} %`],
  ] as const
  return (
    <Figures
      label="In numbers"
      figures={figures.map(([name, value, note]) => ({
        name,
        value: formatShort(value),
        exact: formatNumber(value),
        note,
      }))}
    />
  )
}

/** How each number is counted: a number that nobody can check is worth nothing. */
const Method = ({
  total: { calls, shortened, readBack, spent },
  counted,
}: Pick<SavingsHistory, 'total' | 'counted'>) => (
  <Panel title="How this is counted" sub={`last at ${formatClock(counted)}`}>
    <dl className="dl pad">
      <dt>Shaping</dt>
      <dd>
        The size of what a server sent, less what the agent got, at four bytes a token: {formatNumber(shortened)} of{' '}
        {formatNumber(calls)} calls. Agents read {formatNumber(readBack)} tokens of that later, which count as reached.
      </dd>
      <dt>Context isolation</dt>
      <dd>
        The same for isolated tools, of whose results the agent gets a short answer. The models that wrote such answers
        used {formatNumber(spent)} tokens.
      </dd>
      <dt>Selection</dt>
      <dd>
        The definitions that a profile leaves out, once for each session and hour with a call. Every turn has them, but
        the gateway cannot see turns. Counted with today’s selection, and not before a profile last changed. An agent
        that searches for tools instead of showing all to its model saves less.
      </dd>
    </dl>
  </Panel>
)
