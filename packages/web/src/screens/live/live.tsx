import { useQuery } from '@tanstack/react-query'
import { Pause, Play } from 'lucide-react'
import { useRef, useState } from 'react'
import { Link, useSearchParams } from 'react-router'
import type { EventView } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { toEvents } from '../../api/events.ts'
import { useEvents } from '../../api/use-events.ts'
import { ForeignName, ForeignText } from '../../parts/foreign-text.tsx'
import { cutShort, formatClock, formatCount, formatMs, formatRule, formatShort } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { toVisibleText } from '../../parts/reveal-text.ts'
import { Verdict, type VerdictKind, VerdictMark } from '../../parts/signs.tsx'
import { Empty, Loaded, Note } from '../../parts/states.tsx'
import { VirtualRows } from '../../parts/virtual-rows.tsx'
import { useShortcuts } from '../../shell/shortcuts.ts'
import { addEvents, type LiveCall } from './calls.ts'
import './live.css'

const EARLIER = 500
const MAX_OF_DAY = 5_000
const CALL_TYPES =
  'TOOL_CALL_STARTED,TOOL_CALL_COMPLETED,TOOL_CALL_FAILED,POLICY_DENIED,APPROVAL_REQUESTED,APPROVAL_EXPIRED'
/** Calls with these verdicts have a record of their own, so that a day of others does not hide them. */
const OWN_TYPES: Readonly<Record<string, string>> = { deny: 'POLICY_DENIED', expired: 'APPROVAL_EXPIRED' }
const FILTERS: readonly VerdictKind[] = ['allow', 'ask', 'deny', 'would', 'failed', 'expired']
const ROW_HEIGHT = 34

/** Every call as it happens, or those of one day. */
export function Live() {
  const [search] = useSearchParams()
  const day = search.get('day')
  return day !== null && /^\d{4}-\d{2}-\d{2}$/.test(day) ? <Day key={day} day={day} /> : <Now />
}

function Now() {
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

/** What was recorded on a day, by the clock of the reader. */
function Day({ day }: { readonly day: string }) {
  const { chosen } = useFilter()
  const own = chosen.map((kind) => OWN_TYPES[kind])
  const type = own.length > 0 && own.every((each) => each !== undefined) ? own.join(',') : CALL_TYPES
  const query = useQuery({
    queryKey: ['day-calls', day, type],
    queryFn: async () => {
      const [since, until] = [new Date(`${day}T00:00:00`), new Date(`${day}T00:00:00`)]
      until.setDate(until.getDate() + 1)
      const span = { since: since.toISOString(), until: until.toISOString() }
      return toEvents((await read(api.events.$get({ query: { type, limit: String(MAX_OF_DAY), ...span } }))).events)
    },
  })
  return (
    <Page title="Calls" lead={`of ${new Date(`${day}T12:00:00`).toLocaleDateString('en', { dateStyle: 'full' })}`}>
      <Loaded query={query} what="the calls of that day">
        {(events) => (
          <CallList
            calls={addEvents([], events)}
            note={
              events.length < MAX_OF_DAY
                ? undefined
                : 'Only the newest of them: choose “deny” to see all refused calls.'
            }
          />
        )}
      </Loaded>
    </Page>
  )
}

function Stream({ earlier }: { readonly earlier: readonly EventView[] }) {
  const [calls, setCalls] = useState(() => addEvents([], earlier))
  const [held, setHeld] = useState<readonly EventView[]>()
  const [omitted, setOmitted] = useState(0)
  useEvents((events, left) => {
    if (left > 0) setOmitted((before) => before + left)
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
        <CallList
          calls={calls}
          note={
            omitted === 0
              ? undefined
              : `${formatCount(omitted, 'more call')}: too many to show each one. They are all recorded: choose the day, or use \`sallyport audit\`.`
          }
        />
      )}
    </Page>
  )
}

/** The filter is in the address, so that a filtered list can be sent to somebody. */
function useFilter() {
  const [search, setSearch] = useSearchParams()
  const chosen = search.get('verdict')?.split(',') ?? []
  const set = (name: string, value: string): void => {
    // Not the parameters of this render: another field may have been set since.
    const next = new URLSearchParams(window.location.search)
    if (value === '') next.delete(name)
    else next.set(name, value)
    setSearch(next, { replace: true })
  }
  return { chosen, agent: search.get('agent'), text: search.get('q') ?? '', day: search.get('day') ?? '', set }
}

interface CallListProps {
  readonly calls: readonly LiveCall[]
  readonly note?: string | undefined
}

function CallList({ calls, note }: CallListProps) {
  const { chosen, agent, text } = useFilter()
  const words = text.toLowerCase()
  const shown = calls.filter(
    (call) =>
      (chosen.length === 0 || chosen.includes(call.kind)) &&
      (agent === null || call.agent === agent) &&
      (words === '' || `${call.name} ${call.agent} ${call.why}`.toLowerCase().includes(words)),
  )
  return (
    <div className="stack">
      <Filters />
      {note !== undefined && <Note>{note}</Note>}
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
        {shown.length === 0 && <p className="pad muted">No call matches.</p>}
        <VirtualRows
          className="calls-list"
          rows={shown}
          rowHeight={ROW_HEIGHT}
          keyOf={keyOf}
          label="Calls, the newest first"
          renderRow={renderRow}
        />
      </section>
    </div>
  )
}

const keyOf = ({ id }: LiveCall): string => id
const renderRow = (call: LiveCall) => <CallRow call={call} />

function Filters() {
  const { chosen, agent, text, day, set } = useFilter()
  const box = useRef<HTMLInputElement>(null)
  useShortcuts([{ keys: '/', title: 'Search calls', run: () => box.current?.focus() }])
  const toggle = (kind: string): void => {
    const next = chosen.includes(kind) ? chosen.filter((each) => each !== kind) : [...chosen, kind]
    set('verdict', next.join(','))
  }
  return (
    <div className="call-filters">
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
        {agent !== null && (
          <button className="chip" type="button" aria-pressed="true" onClick={() => set('agent', '')}>
            <ForeignText text={cutShort(agent)} />
            <span className="vh">, all agents</span>
          </button>
        )}
      </fieldset>
      <input
        ref={box}
        className="input"
        type="search"
        aria-label="Search calls"
        placeholder="Tool, agent or reason"
        value={text}
        onChange={({ target }) => set('q', target.value)}
      />
      <input
        className="input"
        type="date"
        aria-label="Day"
        value={day}
        onChange={({ target }) => set('day', target.value)}
      />
      {day !== '' && (
        <button className="btn" type="button" onClick={() => set('day', '')}>
          Back to now
        </button>
      )}
    </div>
  )
}

const CallRow = ({ call: { id, time, kind, agent, name, why, rule, ms, kept } }: { readonly call: LiveCall }) => (
  <Link className={`call is-${kind}`} to={`/calls/${id}`}>
    <time dateTime={time}>{formatClock(time, 'ms')}</time>
    <Verdict kind={kind} />
    <span className="c-agent cut muted">
      <ForeignText text={cutShort(agent)} />
    </span>
    <ForeignName name={name} className="c-tool cut" oneLine />
    <span className="why">
      <span className="cut" title={toVisibleText(why.slice(0, 300))}>
        <ForeignText text={why.slice(0, 300)} />
      </span>
      {rule && <code className="faint">{formatRule(rule)}</code>}
    </span>
    <span className="num c-ms muted">{ms ? formatMs(ms) : ''}</span>
    <span className="num c-kept faint">{kept ? `−${formatShort(kept)} tok` : ''}</span>
  </Link>
)
