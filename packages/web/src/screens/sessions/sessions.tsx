import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from 'react-router'
import type { SessionView } from '../../../../gateway/src/serve/api/api.ts'
import { api, read } from '../../api/client.ts'
import { formatWhen } from '../../parts/format.ts'
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
  const current = sessions.find(({ session }) => session === name) ?? sessions[0]
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
            to={`/sessions/${encodeURIComponent(session.session)}`}
            aria-current={session === current ? 'true' : undefined}
          >
            <strong className="cut">{session.session}</strong>
            <LabelSign level={session.sensitivity} />
            <span className="sub cut">
              {session.agent} · {session.user}
              {session.ended && ' · ended'}
              {session.since !== undefined && ` · since ${formatWhen(session.since)}`}
            </span>
          </Link>
        ))}
      </nav>
      <SessionDetail key={current.session} session={current} />
    </div>
  )
}
