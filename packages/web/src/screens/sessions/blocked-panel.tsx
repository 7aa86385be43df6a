import type { UseQueryResult } from '@tanstack/react-query'
import { Link } from 'react-router'
import type { SessionLimits, SessionView } from '../../../../gateway/src/serve/api/api.ts'
import { ForeignName, ForeignText } from '../../parts/foreign-text.tsx'
import { cutShort, formatCount } from '../../parts/format.ts'
import { Panel } from '../../parts/page.tsx'
import { VerdictMark } from '../../parts/signs.tsx'
import { Loaded } from '../../parts/states.tsx'

interface BlockedPanelProps {
  readonly session: SessionView
  readonly query: UseQueryResult<SessionLimits>
}

/** Which tools the label blocks now, and what can be done instead. */
export function BlockedPanel({ session, query }: BlockedPanelProps) {
  const { agent, datasets, untrusted, sensitivity } = session
  return (
    <Panel
      title={session.private ? `What is blocked while it is ${sensitivity}` : 'What is blocked'}
      actions={
        session.private && (
          <Link className="btn btn-s" to={`/live?verdict=deny&agent=${encodeURIComponent(agent)}`}>
            See what was refused
          </Link>
        )
      }
    >
      <div className="pad stack-s">
        <p>
          {session.private
            ? 'Calls that reach out (CONNECT) are refused, unless a person approves one call, or they stay on the network for private data.'
            : 'Nothing yet: it has not seen private data.'}
        </p>
        {untrusted && <p>It has read text of a server that is not trusted.</p>}
        {datasets.length > 0 && (
          <p className="muted">
            It has seen: <ForeignText text={datasets.map(({ name }) => name).join(', ')} limit={500} />
          </p>
        )}
      </div>
      {session.private && (
        <Loaded query={query} what="what is blocked">
          {({ blocked }) =>
            blocked.length === 0 ? (
              <p className="row muted">None of its tools is blocked.</p>
            ) : (
              <ul>
                {blocked.map((server) => (
                  <BlockedServer key={server.server} server={server} />
                ))}
              </ul>
            )
          }
        </Loaded>
      )}
    </Panel>
  )
}

const BlockedServer = ({
  server: { server, count, of, tools, reason, remedies },
}: {
  readonly server: SessionLimits['blocked'][number]
}) => (
  <li>
    <details className="blocked">
      <summary>
        <VerdictMark kind="deny" />
        <span className="grow">
          <ForeignName name={`${server}/*`} />{' '}
          <span className="muted">
            {count === of ? `all ${formatCount(of, 'tool')}` : `${count} of ${formatCount(of, 'tool')}`}
          </span>
        </span>
        <span className="small muted">what can be done</span>
      </summary>
      <div className="stack-s">
        <p>
          <ForeignText text={reason} limit={500} />
        </p>
        <ul className="remedies">
          {remedies.map((remedy) => (
            <li key={remedy}>
              <ForeignText text={startSentence(remedy)} limit={500} />
            </li>
          ))}
        </ul>
        <p className="small muted">
          Blocked: <ForeignText text={tools.map(cutShort).join(', ')} limit={600} />
        </p>
      </div>
    </details>
  </li>
)

/** The gateway writes them as parts of one sentence. */
const startSentence = (remedy: string): string => {
  const own = remedy.replace(/^or, /, '').replace(/^or /, '')
  return `${own.slice(0, 1).toUpperCase()}${own.slice(1)}.`
}
