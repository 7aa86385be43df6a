import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { Link, useParams, useSearchParams } from 'react-router'
import type { ServerView } from '../../../../gateway/src/serve/api/api.ts'
import { serversQuery } from '../../api/queries.ts'
import { formatCount } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { Empty, Loaded } from '../../parts/states.tsx'
import { useMay } from '../../shell/roles.ts'
import { AddServer } from './add-server.tsx'
import { ServerRow } from './server-row.tsx'
import './servers.css'

const DOWN_STATES: ReadonlySet<string> = new Set(['broken', 'restarting'])
/** With more servers, the last day is read only of the one that is open. */
const MAX_STRIPS = 20

/**
 * The servers behind the gateway: `/servers/memory` is one of them, and `?edit=form` edits it; `?add=form` and
 * `?add=paste` add one.
 */
export function Servers() {
  const query = useQuery(serversQuery)
  const { id } = useParams()
  const [search] = useSearchParams()
  const mayChange = useMay('operator')
  const wanted = search.get('state')
  const adding = search.get('add')
  return (
    <Page
      title="Servers"
      lead={query.data ? summarize(query.data) : 'The MCP servers behind this gateway.'}
      actions={
        mayChange &&
        adding === null &&
        !search.has('edit') && (
          <>
            <Link className="btn" to="/start">
              From agents
            </Link>
            <Link className="btn btn-primary" to="/servers?add=form">
              <Plus className="i" aria-hidden="true" />
              Add a server
            </Link>
          </>
        )
      }
    >
      {mayChange && adding !== null && <AddServer by={adding === 'paste' ? 'paste' : 'form'} />}
      {wanted !== null && (
        <p className="bar-line">
          Only servers that are {wanted}. <Link to="/servers">Show all</Link>
        </p>
      )}
      <Loaded query={query} what="the servers">
        {(servers) => <ServerList servers={servers.filter((server) => isWanted(server, wanted))} opened={id} />}
      </Loaded>
    </Page>
  )
}

const summarize = (servers: readonly ServerView[]): string =>
  `${formatCount(servers.length, 'server')}, ${servers.filter(({ state }) => state === 'ready').length} ready`

const isWanted = ({ state }: ServerView, wanted: string | null): boolean =>
  wanted === null || (wanted === 'down' ? DOWN_STATES.has(state) : state === wanted)

/** The gateway's own first, and then always in the same order, whichever was started last. */
const byPlace = (a: ServerView, b: ServerView): number =>
  Number(b.kind === 'built-in') - Number(a.kind === 'built-in') || a.id.localeCompare(b.id)

interface ServerListProps {
  readonly servers: readonly ServerView[]
  readonly opened: string | undefined
}

function ServerList({ servers, opened }: ServerListProps) {
  if (servers.length === 0)
    return (
      <Empty title="No server here" command="sallyport import">
        Take over the servers of the agents on this machine:
      </Empty>
    )
  return (
    <ul className="panel">
      {servers.toSorted(byPlace).map((server) => (
        <ServerRow
          key={server.id}
          server={server}
          isOpen={server.id === opened}
          withHealth={servers.length <= MAX_STRIPS || server.id === opened}
        />
      ))}
    </ul>
  )
}
