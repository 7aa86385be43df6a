import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Network } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'react-router'
import type { EventView, SessionLimits, SessionView } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { toEvents } from '../../api/events.ts'
import { ForeignText } from '../../parts/foreign-text.tsx'
import { cutShort, formatCount, formatRule, formatWhen } from '../../parts/format.ts'
import { Panel } from '../../parts/page.tsx'
import { SENSITIVITY_LEVELS } from '../../parts/signs.tsx'
import { Note } from '../../parts/states.tsx'
import { useMay } from '../../shell/roles.ts'
import { useToast } from '../../shell/toasts.tsx'
import { BlockedPanel } from './blocked-panel.tsx'
import { SandboxPanel } from './sandbox-panel.tsx'
import { useSessionLimits } from './session-limits.ts'

type Level = SessionView['sensitivity']
type Raised = Extract<EventView, { type: 'SENSITIVITY_RAISED' }>

export function SessionDetail({ session }: { readonly session: SessionView }) {
  const { session: name, user, agent, profile, problem } = session
  const raised = useQuery({
    queryKey: ['sessions', name, 'raised'],
    queryFn: async () =>
      toEvents(
        (await read(api.events.$get({ query: { session: name, type: 'SENSITIVITY_RAISED' } }))).events,
      ) as readonly Raised[],
  }).data?.filter((event) => event.user === user)
  const limits = useSessionLimits(session)
  return (
    <div className="stack">
      <Panel
        title={<ForeignText text={cutShort(name)} />}
        sub={
          <>
            <ForeignText text={cutShort(`${agent}.${profile}`)} /> · <ForeignText text={cutShort(user)} />
          </>
        }
        actions={<EndButton session={session} />}
      >
        <ol className="ladder" aria-label="Sensitivity, the highest first">
          {SENSITIVITY_LEVELS.toReversed().map((level) => (
            <Rung
              key={level}
              level={level}
              session={session}
              network={limits.data?.network[level]}
              raised={raised?.findLast((event) => event.to === level)}
            />
          ))}
        </ol>
      </Panel>
      {problem !== undefined && <Note kind="bad">{problem}</Note>}
      <BlockedPanel session={session} query={limits} />
      <SandboxPanel session={session} />
      <RaiseForm session={session} />
    </div>
  )
}

interface RungProps {
  readonly level: Level
  readonly session: SessionView
  /** What programs in sandboxes reach at this label. */
  readonly network: string | undefined
  readonly raised: Raised | undefined
}

function Rung({ level, session, network, raised }: RungProps) {
  const [at, now] = [SENSITIVITY_LEVELS.indexOf(level), SENSITIVITY_LEVELS.indexOf(session.sensitivity)]
  return (
    <li className={`rung ${at > now ? 'above' : 'reached'} ${at === now ? 'now' : ''}`}>
      <span className="rung-art" aria-hidden="true">
        <i />
      </span>
      <b>
        {level}
        {at === now && <span className="tag tag-ask">now</span>}
      </b>
      <span className="by">
        {raised ? (
          <>
            {formatWhen(raised.time)} · <ForeignText text={raised.reason} limit={200} />
            {raised.rule && <code> {formatRule(raised.rule)}</code>}
            {raised.call_id && <Link to={`/calls/${raised.call_id}`}> call {raised.call_id.slice(0, 6)}</Link>}
          </>
        ) : at > now ? (
          'not reached'
        ) : at === 0 && session.since ? (
          `${formatWhen(session.since)} · the session began`
        ) : (
          ''
        )}
      </span>
      <span className="net muted">
        {network && (
          <>
            <Network className="i i-s" aria-hidden="true" /> <span className="vh">network mode of sandboxes: </span>
            {network}
          </>
        )}
      </span>
    </li>
  )
}

function RaiseForm({ session: { session, user, sensitivity, ended } }: { readonly session: SessionView }) {
  const higher = SENSITIVITY_LEVELS.slice(SENSITIVITY_LEVELS.indexOf(sensitivity) + 1)
  const [level, setLevel] = useState<Level | undefined>(higher[0])
  const [why, setWhy] = useState('')
  const client = useQueryClient()
  const toast = useToast()
  const mayRaise = useMay('operator')
  const raise = useMutation({
    mutationFn: (to: Level) =>
      read(api.sessions.raise.$post({ json: { session, user, sensitivity: to, via: 'web', ...(why && { why }) } })),
    onSuccess: (raised) => {
      toast(`${cutShort(session)} is ${raised.sensitivity}`)
      return client.invalidateQueries({ queryKey: ['sessions'] })
    },
  })
  const chosen = level !== undefined && higher.includes(level) ? level : higher[0]
  const isShown = chosen !== undefined && !ended && mayRaise
  const after = useSessionLimits({ session, user }, isShown ? chosen : undefined)
  if (!isShown) return null
  return (
    <Panel title="Raise the label" sub="nothing lowers it again">
      <form
        className="pad raise"
        onSubmit={(event) => {
          event.preventDefault()
          raise.mutate(chosen)
        }}
      >
        <label className="field">
          <span className="label-text">To</span>
          <select className="input" value={chosen} onChange={({ target }) => setLevel(target.value as Level)}>
            {higher.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
        <label className="field grow">
          <span className="label-text">Why (optional)</span>
          <input className="input" value={why} onChange={({ target }) => setWhy(target.value)} maxLength={300} />
        </label>
        <button className="btn" type="submit" disabled={raise.isPending}>
          Raise to {chosen}
        </button>
      </form>
      <p className="pad small muted" role="status">
        {after.data === undefined ? 'Counting what that would block…' : describeEffect(after.data)}
      </p>
      {raise.error && <p className="pad error">{raise.error.message}</p>}
    </Panel>
  )
}

function describeEffect({ blocked, private: isPrivate, network, sensitivity }: SessionLimits): string {
  const tools = blocked.reduce((sum, { count }) => sum + count, 0)
  if (!isPrivate) return 'That would block nothing: it is not private yet.'
  const sandboxes = `Its sandboxes would be ${network[sensitivity]}.`
  if (tools === 0) return `That would block none of its tools. ${sandboxes}`
  const servers = blocked.map(({ server }) => server).join(', ')
  return `That would block ${formatCount(tools, 'tool')} of ${cutShort(servers)}. ${sandboxes}`
}

function EndButton({ session: { session, user, ended } }: { readonly session: SessionView }) {
  const [isAsking, ask] = useState(false)
  const client = useQueryClient()
  const toast = useToast()
  const mayEnd = useMay('operator')
  const end = useMutation({
    mutationFn: () => read(api.sessions.end.$post({ json: { session, user, via: 'web' } })),
    onSuccess: ({ next }) => {
      toast(`Ended. The next session is ${next}`)
      return client.invalidateQueries({ queryKey: ['sessions'] })
    },
  })
  if (ended) return <span className="tag">ended</span>
  if (!mayEnd) return null
  if (!isAsking)
    return (
      <button className="btn btn-s btn-danger" type="button" onClick={() => ask(true)}>
        End the session…
      </button>
    )
  return (
    <span className="actions">
      <button className="btn btn-s btn-danger" type="button" disabled={end.isPending} onClick={() => end.mutate()}>
        End it: the next one starts PUBLIC
      </button>
      <button className="btn btn-s btn-ghost" type="button" onClick={() => ask(false)}>
        Cancel
      </button>
      {end.error && <span className="error">{end.error.message}</span>}
    </span>
  )
}
