import { queryOptions } from '@tanstack/react-query'
import { api, read } from '../../api/client.ts'

const fetchProfiles = () => read(api.profiles.$get())

const fetchAgentTools = ({ agent, variant }: ProfileRef) =>
  read(api.agents[':agent'].tools.$get({ param: { agent: encodeURIComponent(agent) }, query: { variant } }))

/** All profiles, each with its version. */
export type Profiles = Awaited<ReturnType<typeof fetchProfiles>>
export type Profile = Profiles['profiles'][number]
export type AgentTools = Awaited<ReturnType<typeof fetchAgentTools>>
export type AgentServer = AgentTools['servers'][number]
export type AgentTool = AgentServer['tools'][number]

/** The first part of each key is a topic of api/event-topics.ts. */
export const profilesQuery = queryOptions({ queryKey: ['profiles'], queryFn: fetchProfiles })

export const agentToolsQuery = (profile: ProfileRef) =>
  queryOptions({
    queryKey: ['agents', profile.agent, profile.variant],
    queryFn: () => fetchAgentTools(profile),
  })

export interface ProfileRef {
  readonly agent: string
  readonly variant: string
}

/** As the gateway compares it: upper and lower case make no difference in the file. */
export const variantOf = ({ agent, name }: Profile): string => name.slice(agent.length + 1)

/** What is written of a profile; fields that are missing are removed from the file. */
export interface ProfileFields {
  readonly title?: string
  readonly selectedMcpTools?: readonly string[]
  readonly tokenBudget?: number
  readonly session?: string
  readonly clientApproval?: boolean
}

/** Somebody else changed the profile after it was read. */
export interface ProfileConflict {
  /** `undefined`: the profile is not in the file any more. */
  readonly current: Profile | undefined
}

/** Writes a profile if it is still the one that was read; `undefined` if there was none. */
export async function saveProfile(
  { agent, variant }: ProfileRef,
  fields: ProfileFields,
  seen: Profile | undefined,
): Promise<ProfileConflict | undefined> {
  const { selectedMcpTools, ...more } = fields
  const response = await api.profiles[':agent'][':variant'].$put({
    param: { agent: encodeURIComponent(agent), variant: encodeURIComponent(variant) },
    header: seen === undefined ? { 'if-none-match': '*' } : { 'if-match': `"${seen.etag}"` },
    json: { ...more, ...(selectedMcpTools && { selectedMcpTools: [...selectedMcpTools] }) },
  })
  if (response.status !== 412) {
    await read(Promise.resolve(response))
    return undefined
  }
  const { current } = (await response.json()) as { readonly current?: Profile }
  return { current }
}

export async function deleteProfile({ agent, variant }: ProfileRef, seen: Profile): Promise<void> {
  const param = { agent: encodeURIComponent(agent), variant: encodeURIComponent(variant) }
  await read(api.profiles[':agent'][':variant'].$delete({ param, header: { 'if-match': `"${seen.etag}"` } }))
}
