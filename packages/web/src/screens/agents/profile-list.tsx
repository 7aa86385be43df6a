import { Link } from 'react-router'
import type { Agent } from '../../api/queries.ts'
import { formatNumber } from '../../parts/format.ts'
import { type Profile, type ProfileRef, variantOf } from './agents-queries.ts'

interface ProfileListProps {
  readonly agents: readonly Agent[]
  readonly profiles: readonly Profile[]
  readonly selected: ProfileRef | undefined
}

/** All agents with their profiles; agents without any are folded away. */
export function ProfileList({ agents, profiles, selected }: ProfileListProps) {
  const hasProfiles = ({ id }: Agent): boolean => profiles.some(({ agent }) => agent === id)
  const isUsed = (agent: Agent): boolean => hasProfiles(agent) || selected?.agent === agent.id
  const others = agents.filter((agent) => !isUsed(agent))
  return (
    <nav className="profiles" aria-label="Profiles">
      {agents.filter(isUsed).map((agent) => (
        <AgentProfiles key={agent.id} agent={agent} profiles={profiles} selected={selected} />
      ))}
      {others.length > 0 && (
        <details>
          <summary>{formatNumber(others.length)} other agents</summary>
          {others.map((agent) => (
            <AgentProfiles key={agent.id} agent={agent} profiles={[]} selected={selected} />
          ))}
        </details>
      )}
    </nav>
  )
}

function AgentProfiles({
  agent,
  profiles,
  selected,
}: { readonly agent: Agent } & Pick<ProfileListProps, 'profiles' | 'selected'>) {
  const own = profiles.filter((profile) => profile.agent === agent.id)
  const hasDefault = own.some((profile) => variantOf(profile) === 'default')
  const rows = [
    ...(hasDefault ? [] : [{ variant: 'default', sum: 'all' }]),
    ...own.map((profile) => ({ variant: variantOf(profile), sum: describeSelection(profile) })),
  ]
  return (
    <div>
      <h3>{agent.title}</h3>
      {rows.map(({ variant, sum }) => (
        <Link
          key={variant}
          to={`/agents/${encodeURIComponent(`${agent.id}.${variant}`)}`}
          className="agent"
          data-agent={agent.id}
          aria-current={selected?.agent === agent.id && selected.variant === variant ? 'page' : undefined}
        >
          <span className="cut">{variant}</span>
          <span>{agent.supportsMcp ? sum : 'no MCP'}</span>
        </Link>
      ))}
    </div>
  )
}

function describeSelection({ selectedMcpTools, tools }: Profile): string {
  if (selectedMcpTools === undefined) return 'all'
  return selectedMcpTools.length === 0 ? 'none' : formatNumber(tools.selected)
}
