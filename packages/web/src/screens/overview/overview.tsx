import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import type { Overview as OverviewView } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { toEvents } from '../../api/events.ts'
import { Figures } from '../../parts/figures.tsx'
import { formatNumber } from '../../parts/format.ts'
import { Page, Panel } from '../../parts/page.tsx'
import { Loaded, Note } from '../../parts/states.tsx'
import { useAttention } from '../../shell/attention.ts'
import { ChangeFeed } from './change-feed.tsx'
import { FirstSteps } from './first-steps.tsx'
import { FlowPanel } from './flow-panel.tsx'
import { ModePanel } from './mode-panel.tsx'
import { TodoPanel } from './todo-panel.tsx'
import './overview.css'

function startOfDay(): string {
  const day = new Date()
  day.setHours(0, 0, 0, 0)
  return day.toISOString()
}

/** What needs a person first, then the mode, then numbers. */
export function Overview() {
  const since = startOfDay()
  const query = useQuery({
    queryKey: ['overview', since],
    queryFn: () => read(api.overview.$get({ query: { since } })),
  })
  const count = useAttention().reduce((sum, item) => sum + item.count, 0)
  return (
    <Page tab="Overview" title={findTitle(count, query.data)}>
      <Loaded query={query} what="the overview">
        {(overview) => (
          <div className="cols">
            <div className="stack">
              {isEmpty(overview.servers) ? (
                <FirstSteps />
              ) : (
                <>
                  <TodoPanel />
                  {overview.day === undefined ? (
                    <Note>The calls of today cannot be counted: the index of the records is not in use.</Note>
                  ) : (
                    <>
                      <FlowPanel day={overview.day} waiting={overview.attention.approvals} />
                      <Today day={overview.day} since={overview.since} running={overview.callsInFlight} />
                    </>
                  )}
                  <ServersPanel overview={overview} />
                </>
              )}
            </div>
            <div className="stack">
              <ModePanel />
              <ChangeFeed changes={toEvents(overview.changes)} />
            </div>
          </div>
        )}
      </Loaded>
    </Page>
  )
}

function findTitle(count: number, overview: OverviewView | undefined): string {
  if (count > 0) return `${count} ${count === 1 ? 'thing needs' : 'things need'} you`
  return overview !== undefined && isEmpty(overview.servers) ? 'Begin with a server' : 'Nothing needs you'
}

/** The gateway’s own server is always there. */
const isEmpty = (servers: OverviewView['servers']): boolean => servers.every(({ id }) => id === 'sallyport')

const HOUR_MS = 3_600_000

interface TodayProps {
  readonly day: NonNullable<OverviewView['day']>
  readonly since: string
  readonly running: number
}

function Today({ day: { counts, hours }, since, running }: TodayProps) {
  const asked = counts.calls + counts.refused
  const share = asked === 0 ? '' : `${((100 * counts.refused) / asked).toFixed(1)} %`
  const figures = [
    ['Calls today', 'calls', running > 0 ? `${running} running` : ''],
    ['Refused', 'refused', share],
    ['Asked a person', 'approvalsRequested', ''],
    ['Failed', 'failed', ''],
    ['Labels raised', 'labelsRaised', ''],
  ] as const
  const start = Date.parse(since)
  const course = (name: (typeof figures)[number][1]): readonly number[] => {
    const values = Array.from({ length: Math.max(1, Math.ceil((Date.now() - start) / HOUR_MS)) }, () => 0)
    for (const hour of hours) {
      const index = Math.max(0, Math.floor((Date.parse(hour.time) - start) / HOUR_MS))
      values[index] = (values[index] ?? 0) + hour[name]
    }
    return values
  }
  return (
    <Figures
      label="Today in numbers"
      figures={figures.map(([title, name, note]) => ({
        ...{ name: title, value: formatNumber(counts[name]), note, course: course(name) },
      }))}
    />
  )
}

const ServersPanel = ({ overview: { servers } }: { readonly overview: Pick<OverviewView, 'servers'> }) => (
  <Panel title="Servers" sub={`${servers.filter(({ state }) => state === 'ready').length} of ${servers.length} ready`}>
    <ul className="server-chips">
      {servers.map(({ id, state }) => (
        <li key={id}>
          <Link className="chip" to={`/servers/${encodeURIComponent(id)}`}>
            <span className={`dot dot-${state}`} aria-hidden="true" />
            {id}
            {state !== 'ready' && <span className="faint">{state}</span>}
          </Link>
        </li>
      ))}
    </ul>
  </Panel>
)
