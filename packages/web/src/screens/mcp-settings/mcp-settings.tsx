import { useQuery } from '@tanstack/react-query'
import { Link, useParams } from 'react-router'
import { agentsQuery } from '../../api/queries.ts'
import { Page } from '../../parts/page.tsx'
import { Loaded, Note } from '../../parts/states.tsx'
import { useMay } from '../../shell/roles.ts'
import { AgentFiles } from './agent-files.tsx'
import { ConnectAgent } from './connect-agent.tsx'
import { OwnServers } from './own-servers.tsx'
import './mcp-settings.css'

/** What each type of agent has in its own files, and how it is connected: `/settings/mcp/claude-code`. */
export function McpSettings() {
  const query = useQuery(agentsQuery)
  const { agent } = useParams()
  return (
    <Page
      title="MCP settings"
      lead={
        <>
          What each agent has in its own files, which are only read, and the servers of the gateway. All agents at once
          are <Link to="/start">here</Link>.
        </>
      }
    >
      <Loaded query={query} what="the agents">
        {(agents) => {
          const withMcp = agents.filter(({ supportsMcp }) => supportsMcp)
          const selected = agent ?? withMcp[0]?.id
          return (
            <div className="mcp-settings">
              <nav className="panel" aria-label="Agents">
                {withMcp.map(({ id, title }) => (
                  <Link
                    key={id}
                    className="row"
                    to={`/settings/mcp/${encodeURIComponent(id)}`}
                    aria-current={id === selected ? 'page' : undefined}
                  >
                    {title}
                  </Link>
                ))}
              </nav>
              {selected === undefined ? (
                <Note>No agent is known.</Note>
              ) : (
                <AgentSettings key={selected} id={selected} />
              )}
            </div>
          )
        }}
      </Loaded>
    </Page>
  )
}

function AgentSettings({ id }: { readonly id: string }) {
  const mayChange = useMay('operator')
  return (
    <div className="stack">
      <AgentFiles agent={id} />
      {mayChange && <ConnectAgent agent={id} />}
      <OwnServers />
    </div>
  )
}
