import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import { Link, useParams } from 'react-router'
import { type Agent, agentsQuery } from '../../api/queries.ts'
import { Page } from '../../parts/page.tsx'
import { Failed, Loading, Note } from '../../parts/states.tsx'
import { useMay } from '../../shell/roles.ts'
import { type Profile, type ProfileRef, type Profiles, profilesQuery, variantOf } from './agents-queries.ts'
import { NewProfile } from './new-profile.tsx'
import { ProfileForm } from './profile-form.tsx'
import { ProfileList } from './profile-list.tsx'
import './agents.css'

const DEFAULT_VARIANT = 'default'

/** Which tools each agent gets: `/agents/claude-code.reviewer`, or `/agents/new`. */
export function Agents() {
  const { profile: name } = useParams()
  const [agents, profiles] = [useQuery(agentsQuery), useQuery(profilesQuery)]
  const mayChange = useMay('operator')
  const isNew = name === 'new'
  return (
    <Page
      title={isNew ? 'New profile' : (name ?? 'Agents and tools')}
      lead={
        <>
          Which tools an agent sees. The rules in <Link to="/governance">tools.yaml</Link> still hold for what is
          selected.
        </>
      }
      actions={
        mayChange &&
        !isNew && (
          <Link className="btn" to="/agents/new">
            <Plus className="i" aria-hidden="true" />
            New profile
          </Link>
        )
      }
    >
      <AgentsBody name={name} agents={agents} profiles={profiles} />
    </Page>
  )
}

interface BodyProps {
  readonly name: string | undefined
  readonly agents: { readonly data: readonly Agent[] | undefined; readonly error: Error | null }
  readonly profiles: { readonly data: Profiles | undefined; readonly error: Error | null; refetch(): unknown }
}

function AgentsBody({ name, agents, profiles }: BodyProps) {
  const error = agents.error ?? profiles.error
  if (profiles.data === undefined || agents.data === undefined)
    return error === null ? <Loading what="the agents" /> : <Failed error={error} onRetry={() => profiles.refetch()} />
  const ref = findProfile(name, agents.data, profiles.data)
  return (
    <div className="form">
      <ProfileList agents={agents.data} profiles={profiles.data.profiles} selected={ref} />
      <div className="min-w-0">
        <ProfileBody name={name} profile={ref} agents={agents.data} profiles={profiles.data} />
      </div>
    </div>
  )
}

interface ProfileBodyProps {
  readonly name: string | undefined
  readonly profile: ProfileRef | undefined
  readonly agents: readonly Agent[]
  readonly profiles: Profiles
}

function ProfileBody({ name, profile, agents, profiles }: ProfileBodyProps) {
  if (name === 'new') return <NewProfile agents={agents} profiles={profiles} />
  if (profile === undefined)
    return (
      <Note kind="ask">
        There is no profile {name}. It may have been deleted: choose another one, or create it with “New profile”.
      </Note>
    )
  // A form belongs to one profile: with another key nothing that was chosen can be saved into the next one.
  return <ProfileForm key={`${profile.agent}.${profile.variant}`} profile={profile} agents={agents} file={profiles} />
}

/** Every agent has a default profile, in the file or not. */
function findProfile(
  name: string | undefined,
  agents: readonly Agent[],
  { profiles }: Profiles,
): ProfileRef | undefined {
  if (name === 'new') return undefined
  if (name === undefined) {
    const [first] = profiles
    return first ? toRef(first) : { agent: agents[0]?.id ?? '', variant: DEFAULT_VARIANT }
  }
  const found = profiles.find((profile) => profile.name === name.toLowerCase() || profile.name === name)
  if (found) return toRef(found)
  const agent = agents.find(({ id }) => name === `${id}.${DEFAULT_VARIANT}` || name === id)
  return agent && { agent: agent.id, variant: DEFAULT_VARIANT }
}

const toRef = (profile: Profile): ProfileRef => ({ agent: profile.agent, variant: variantOf(profile) })
