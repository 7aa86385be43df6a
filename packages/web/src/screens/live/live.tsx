import { useQuery } from '@tanstack/react-query'
import { Pause, Play } from 'lucide-react'
import { useState } from 'react'
import { Link, useSearchParams } from 'react-router'
import type { EventView } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { toEvents } from '../../api/events.ts'
import { useEvents } from '../../api/use-events.ts'
import { ForeignName, ForeignText } from '../../parts/foreign-text.tsx'
import { formatClock, formatMs, formatRule, formatShort } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { Verdict, type VerdictKind, VerdictMark } from '../../parts/signs.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { VirtualRows } from '../../parts/virtual-rows.tsx'
import { useShortcuts } from '../../shell/shortcuts.ts'
import { addEvents, type LiveCall } from './calls.ts'
import './live.css'

const EARLIER = 500
const CALL_TYPES =
  'TOOL_CALL_STARTED,TOOL_CALL_COMPLETED,TOOL_CALL_FAILED,POLICY_DENIED,APPROVAL_REQUESTED,APPROVAL_EXPIRED'
const FILTERS: readonly VerdictKind[] = ['allow', 'ask', 'deny', 'would', 'failed', 'expired']
const ROW_HEIGHT = 34

/** Every call as it happens. */
export function Live() {
  const earlier = useQuery({
    queryKey: ['live-calls'],
    queryFn: async () =>
      toEvents((await read(api.events.$get({ query: { type: CALL_TYPES, limit: String(EARLIER) } }))).events),
    gcTime: 0,
  })
  return (
    <Loaded query={earlier} what="the latest calls">
      {(events) => <Stream earlier={events} />}
    </Loaded>
  )
}

function Stream({ earlier }: { readonly earlier: readonly EventView[] }) {
  const [calls, setCalls] = useState(() => addEvents([], earlier))
  const [held, setHeld] = useState<readonly EventView[]>()
  useEvents((events) => {
    if (held === undefined) setCalls((before) => addEvents(before, events))
    else setHeld([...held, ...events].slice(-10_000))
  })
  const toggle = (): void => {
    if (held === undefined) return setHeld([])
    setCalls((before) => addEvents(before, held))
    setHeld(undefined)
  }
  useShortcuts([{ keys: 'p', title: 'Pause the stream', run: toggle }])
  const isPaused = held !== undefined
  return (
    <Page
      title="Live"
      actions={
        <>
          <span className="small muted" role="status">
            {isPaused ? (
              `paused, ${held.length} new records`
            ) : (
              <>
                <span className="live-dot" /> following
              </>
            )}
          </span>
          <button className="btn" type="button" aria-pressed={isPaused} onClick={toggle}>
            {isPaused ? <Play className="i" aria-hidden="true" /> : <Pause className="i" aria-hidden="true" />}
            {isPaused ? 'Go on' : 'Pause'} <kbd>p</kbd>
          </button>
        </>
      }
    >
      {calls.length === 0 ? (
        <Empty title="No calls yet" command="sallyport run claude-code">
          Every call of every agent appears here as it happens. Start an agent through the gateway:
        </Empty>
      ) : (
        <CallList calls={calls} />
      )}
    </Page>
  )
}

function CallList({ calls }: { readonly calls: readonly LiveCall[] }) {
  const [search, setSearch] = useSearchParams()
  const chosen = search.get('verdict')?.split(',') ?? []
  const agent = search.get('agent')
  const shown = calls.filter(
    (call) => (chosen.length === 0 || chosen.includes(call.kind)) && (agent === null || call.agent === agent),
  )
  const toggle = (kind: string): void => {
    const next = chosen.includes(kind) ? chosen.filter((each) => each !== kind) : [...chosen, kind]
    setSearch(next.length === 0 ? {} : { verdict: next.join(',') }, { replace: true })
  }
  return (
    <div className="stack">
      <fieldset className="chips one-line" aria-label="Filters">
        {FILTERS.map((kind) => (
          <button
            key={kind}
            className="chip"
            type="button"
            aria-pressed={chosen.includes(kind)}
            onClick={() => toggle(kind)}
          >
            <VerdictMark kind={kind} /> {kind}
          </button>
        ))}
      </fieldset>
      <section className="panel">
        <div className="call call-head" aria-hidden="true">
          <span>Time</span>
          <span>Verdict</span>
          <span>Agent</span>
          <span>Tool</span>
          <span>Why</span>
          <span className="num">Took</span>
          <span className="num">Kept out</span>
        </div>
        <VirtualRows
          className="calls-list"
          rows={shown}
          rowHeight={ROW_HEIGHT}
          keyOf={({ id }) => id}
          label="Calls, the newest first"
          renderRow={(call) => <CallRow call={call} />}
        />
      </section>
    </div>
  )
}

const CallRow = ({ call: { id, time, kind, agent, name, why, rule, ms, kept } }: { readonly call: LiveCall }) => (
  <Link className={`call is-${kind}`} to={`/calls/${id}`}>
    <time dateTime={time}>{formatClock(time, 'ms')}</time>
    <Verdict kind={kind} />
    <span className="c-agent cut muted">{agent}</span>
    <ForeignName name={name} className="c-tool cut" />
    <span className="why">
      <span className="cut" title={why}>
        <ForeignText text={why.slice(0, 300)} />
      </span>
      {rule && <code className="faint">{formatRule(rule)}</code>}
    </span>
    <span className="num c-ms muted">{ms === undefined ? '' : formatMs(ms)}</span>
    <span className="num c-kept faint">{kept ? `−${formatShort(kept)} tok` : ''}</span>
  </Link>
)
