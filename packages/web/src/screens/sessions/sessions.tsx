import { useQuery } from '@tanstack/react-query'
import { Link, useParams, useSearchParams } from 'react-router'
import type { SessionView } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { ForeignText } from '../../parts/foreign-text.tsx'
import { cutShort, formatWhen } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { LabelSign } from '../../parts/signs.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { SessionDetail } from './session-detail.tsx'
import './sessions.css'

/** What each session has seen, and what it may not do any more. */
export function Sessions() {
  const query = useQuery({
    queryKey: ['sessions'],
    queryFn: async () => (await read(api.sessions.$get())).sessions as readonly SessionView[],
  })
  return (
    <Page
      title="Sessions"
      lead="The label of a session only climbs. When it does, what the session can reach shrinks before its next call."
    >
      <Loaded query={query} what="the sessions">
        {(sessions) => <SessionList sessions={sessions} />}
      </Loaded>
    </Page>
  )
}

function SessionList({ sessions }: { readonly sessions: readonly SessionView[] }) {
  const { name } = useParams()
  const [search] = useSearchParams()
  const user = search.get('user')
  const current =
    name === undefined
      ? sessions[0]
      : sessions.find((one) => one.session === name && (user === null || one.user === user))
  if (current === undefined && name !== undefined)
    return (
      <Empty title="There is no such session" command="sallyport sessions">
        It has not called since the gateway was started, and has no label.
      </Empty>
    )
  if (current === undefined)
    return (
      <Empty title="No session yet" command="sallyport run codex">
        A session begins with the first call of an agent, at PUBLIC.
      </Empty>
    )
  return (
    <div className="split">
      <nav className="panel" aria-label="Sessions">
        {sessions.map((session) => (
          <Link
            key={`${session.user} ${session.session}`}
            className="sess"
            to={`/sessions/${encodeURIComponent(session.session)}?user=${encodeURIComponent(session.user)}`}
            aria-current={session === current ? 'true' : undefined}
          >
            <strong className="cut">
              <ForeignText text={cutShort(session.session)} />
            </strong>
            <LabelSign level={session.sensitivity} />
            <span className="sub cut">
              <ForeignText text={cutShort(session.agent)} /> · <ForeignText text={cutShort(session.user)} />
              {session.ended && ' · ended'}
              {session.since !== undefined && ` · since ${formatWhen(session.since)}`}
            </span>
          </Link>
        ))}
      </nav>
      <SessionDetail key={`${current.user} ${current.session}`} session={current} />
    </div>
  )
}
