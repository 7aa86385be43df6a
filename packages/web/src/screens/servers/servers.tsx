import { useQuery } from '@tanstack/react-query'
import { useSearchParams } from 'react-router'
import type { ServerView } from '../../../../gateway/src/serve/api/api.ts'
import { serversQuery } from '../../api/queries.ts'
import { ForeignText } from '../../parts/foreign-text.tsx'
import { formatCount, formatWhen } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import './servers.css'

const DOWN_STATES: ReadonlySet<string> = new Set(['broken', 'restarting'])

export function Servers() {
  const query = useQuery(serversQuery)
  const [search] = useSearchParams()
  const wanted = search.get('state')
  return (
    <Page title="Servers" lead="The MCP servers behind this gateway.">
      <Loaded query={query} what="the servers">
        {(servers) => <ServerList servers={servers.filter((server) => isWanted(server, wanted))} />}
      </Loaded>
    </Page>
  )
}

const isWanted = ({ state }: ServerView, wanted: string | null): boolean =>
  wanted === null || (wanted === 'down' ? DOWN_STATES.has(state) : state === wanted)

function ServerList({ servers }: { readonly servers: readonly ServerView[] }) {
  if (servers.length === 0)
    return (
      <Empty title="No server here" command="sallyport import">
        Take over the servers of the agents on this machine:
      </Empty>
    )
  return (
    <ul className="panel">
      {servers.map((server) => (
        <li key={server.id}>
          <details className="server">
            <summary>
              <span />
              <strong className="cut">{server.config.title ?? server.id}</strong>
              <ServerState state={server.state} />
              <span className="cut muted">
                <ForeignText text={server.reason ?? ''} />
              </span>
              <span className="num small muted s-more">{formatCount(server.tools, 'tool')}</span>
              <span className="num small muted s-more">
                {server.restarts > 0 && formatCount(server.restarts, 'restart')}
              </span>
              <span className="num small faint s-more">{formatWhen(server.since)}</span>
            </summary>
            <ServerBody server={server} />
          </details>
        </li>
      ))}
    </ul>
  )
}

const STATE_STYLES: Readonly<Record<ServerView['state'], string>> = {
  ready: 'ready',
  starting: 'off',
  stopped: 'off',
  disabled: 'off',
  closed: 'off',
  restarting: 'backoff',
  broken: 'failed',
  'needs-login': 'login',
}

const ServerState = ({ state }: Pick<ServerView, 'state'>) => (
  <span className={`state state-${STATE_STYLES[state]}`}>{state}</span>
)

function ServerBody({ server: { kind, reason, messages, config, counterpart } }: { readonly server: ServerView }) {
  return (
    <div className="server-body">
      <dl className="dl">
        <dt>Kind</dt>
        <dd>{kind}</dd>
        <dt>Defined in</dt>
        <dd>
          <code>
            {config.location.file}:{config.location.line}
          </code>
        </dd>
        {reason !== undefined && (
          <>
            <dt>Why</dt>
            <dd>
              <ForeignText text={reason} />
            </dd>
          </>
        )}
        {counterpart && (
          <>
            <dt>Isolated instance</dt>
            <dd>
              {counterpart.state},{' '}
              {formatCount(counterpart.missing.length + counterpart.differing.length, 'different tool')}
            </dd>
          </>
        )}
      </dl>
      {messages.length > 0 && (
        <pre className="code code-plain soft">
          {messages.map((message, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their position.
            <span key={index}>
              <ForeignText text={message} limit={2_000} />
            </span>
          ))}
        </pre>
      )}
    </div>
  )
}
