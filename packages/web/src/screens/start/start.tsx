import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import type { FoundAgents } from '../../../../gateway/src/serve/api/api.ts'
import { Command } from '../../parts/command.tsx'
import { ConfigChange, useConfigChange } from '../../parts/config-change.tsx'
import { formatCount } from '../../parts/format.ts'
import { Page } from '../../parts/page.tsx'
import { Empty, Loaded, Note } from '../../parts/states.tsx'
import { useMay } from '../../shell/roles.ts'
import { FoundAgent } from './found-agent.tsx'
import { foundAgentsQuery } from './found-agents-query.ts'
import './start.css'

/** The agents of this machine with their servers, and one button that brings all of them behind the gateway. */
export function Start() {
  const query = useQuery(foundAgentsQuery)
  const count = query.data?.agents.length
  return (
    <Page
      tab="Start"
      title={count === undefined || count === 0 ? 'Start' : `${formatCount(count, 'agent')} found on this machine`}
      lead={
        <>
          Bring their MCP servers behind one door. <strong>Nothing is written to their files</strong>: they are only
          read, and the gateway keeps its own list in <code>config.yaml</code>.
        </>
      }
    >
      <Loaded query={query} what="the agents on this machine">
        {(found) => (found.agents.length === 0 ? <NoAgents /> : <Found found={found} />)}
      </Loaded>
    </Page>
  )
}

const NoAgents = () => (
  <Empty title="No agent was found" command="sallyport agents">
    No program and no file of a known agent is on this machine. <Link to="/servers?add=form">Add a server</Link> by
    hand, or see which agents are known:
  </Empty>
)

function Found({ found: { agents, importable } }: { readonly found: FoundAgents }) {
  return (
    <div className="stack">
      <ImportBar agents={agents} importable={importable} />
      <ul className="panel" aria-label="Agents on this machine">
        {agents.map((agent) => (
          <FoundAgent key={agent.agent} agent={agent} importable={importable} />
        ))}
      </ul>
      <div className="stack-s start-command">
        <p className="muted">The same in a terminal:</p>
        <Command text="sallyport import" />
      </div>
    </div>
  )
}

/** The one button of the screen; what it would write is shown before anything is written. */
function ImportBar({ agents, importable }: FoundAgents) {
  const change = useConfigChange()
  const mayChange = useMay('operator')
  if (!agents.some(hasServers)) return <Note>None of them has an MCP server in its files.</Note>
  if (importable.length === 0) return <AllImported />
  if (!mayChange) return <Note>An operator of this gateway can import them.</Note>
  const secrets = importable.reduce((sum, server) => sum + server.secrets, 0)
  const show = (): void =>
    change.show(agents.filter(hasServers).map(({ agent }) => ({ kind: 'import', agent, projects: false })))
  return (
    <div className="stack-s">
      {change.preview.variables === undefined && (
        <div className="bar-line">
          <button className="btn btn-primary" type="button" onClick={show}>
            Import {formatCount(importable.length, 'server')}…
          </button>
          <span className="muted">
            You see the change of config.yaml first.
            {secrets > 0 &&
              ` ${formatCount(secrets, 'key')} in it ${secrets === 1 ? 'becomes a variable' : 'become variables'}.`}
          </span>
        </div>
      )}
      <ConfigChange change={change} />
    </div>
  )
}

const AllImported = () => (
  <div className="stack-s">
    <Note kind="info">All servers that can be imported are in config.yaml.</Note>
    <div className="bar-line">
      <Link className="btn" to="/servers">
        See the servers
      </Link>
      <Link className="btn" to="/settings/mcp">
        Connect an agent
      </Link>
    </div>
  </div>
)

const hasServers = ({ files }: FoundAgents['agents'][number]): boolean =>
  files.some(({ servers }) => servers.length > 0)
