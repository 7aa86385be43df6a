import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'
import { formatCount } from '../../parts/format.ts'
import { EmptyDoor } from '../../parts/signs.tsx'
import { foundAgentsQuery } from '../start/found-agents-query.ts'

/** What to do while the gateway has no server. */
export function FirstSteps() {
  const found = useQuery(foundAgentsQuery).data
  const count = found?.importable.length ?? 0
  return (
    <section className="panel empty" aria-label="First steps">
      <EmptyDoor />
      <h2>No server is behind this gateway yet</h2>
      <p>
        {count > 0 && found !== undefined
          ? `${formatCount(found.agents.length, 'agent')} on this machine ${found.agents.length === 1 ? 'has' : 'have'} ${formatCount(count, 'server')} that can be imported. Their files are only read.`
          : 'Add an MCP server, or look which agents are on this machine.'}
      </p>
      <div className="actions">
        <Link className="btn btn-primary" to="/start">
          {count > 0 ? 'See what was found' : 'Look for agents'}
        </Link>
        <Link className="btn" to="/servers?add=form">
          Add a server
        </Link>
      </div>
    </section>
  )
}
