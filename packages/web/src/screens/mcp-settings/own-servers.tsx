import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { serversQuery } from '../../api/queries.ts'
import { ForeignText } from '../../parts/foreign-text.tsx'
import { Panel } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { useMay } from '../../shell/roles.ts'

/** The servers of config.yaml, which every agent shares. */
export function OwnServers() {
  const query = useQuery(serversQuery)
  const mayChange = useMay('operator')
  return (
    <Panel title="The gateway’s own servers" sub="in config.yaml, for all agents">
      <Loaded query={query} what="the servers">
        {(servers) => {
          const own = servers.filter(({ kind }) => kind !== 'built-in')
          if (own.length === 0)
            return (
              <p className="pad muted">
                None yet. <Link to="/start">Import those of your agents</Link>.
              </p>
            )
          return (
            <ul>
              {own.map(({ id, state, config }) => (
                <li key={id} className="row">
                  <Link className="cut" to={`/servers/${encodeURIComponent(id)}`}>
                    <ForeignText text={config.title ?? id} />
                  </Link>
                  <span className="small muted grow">{state}</span>
                  {mayChange && (
                    <Link
                      className="btn btn-s"
                      to={`/servers/${encodeURIComponent(id)}?edit=form`}
                      aria-label={`Edit ${id}…`}
                    >
                      Edit…
                    </Link>
                  )}
                </li>
              ))}
            </ul>
          )
        }}
      </Loaded>
    </Panel>
  )
}
