import { basename } from 'node:path'
import type { Principal } from '@sallyport/core'
import { agentSlug, DEFAULT_VARIANT, isDefaultVariant, profileKey } from './profile-name.ts'
import type { ProfileSettings, Profiles, SourceLocation } from './settings.ts'

/** One list of selectors that a caller is held to, and whose it is. */
export interface ToolSelection {
  readonly selectors: readonly string[]
  /** Such as `The profile codex.reviewer (profiles.json:7)`: the beginning of why something is refused. */
  readonly whose: string
  readonly place?: SourceLocation
}

const NONE: readonly string[] = Object.freeze([])

/** What an agent's profile selects; undefined: all tools. An agent may be written in any way that means it. */
export function getSelectedMcpTools(profiles: Profiles, agent: string, variant: string): readonly string[] | undefined {
  return findSelection(profiles, { agent, profile: variant })?.selectors
}

/** All lists that count for a caller: each one can only take away. */
export function findSelections(profiles: Profiles, principal: Principal): readonly ToolSelection[] {
  const { madeFor, tools } = principal
  const own = findSelection(profiles, principal)
  const narrowed = madeFor && findSelection(profiles, madeFor)
  const launch = tools && { selectors: tools, whose: 'The launch that this credential was made for' }
  return [own, narrowed, launch].filter((choice) => choice !== undefined)
}

function findSelection(profiles: Profiles, who: Pick<Principal, 'agent' | 'profile'>): ToolSelection | undefined {
  const profile = profileFor(profiles, who)
  if (profile === undefined) return isDefaultVariant(who.profile) ? undefined : emptySelection(profiles, who)
  const { agent, variant, selectedMcpTools, place } = profile
  if (selectedMcpTools === undefined) return undefined
  const whose = `The profile ${profileKey(agent, variant)} (${basename(place.file)}:${place.line})`
  return { selectors: selectedMcpTools, whose, place }
}

const profileFor = (
  profiles: Profiles,
  { agent, profile }: Pick<Principal, 'agent' | 'profile'>,
): ProfileSettings | undefined => profiles.get(profileKey(agentSlug(agent), profile))

/** Who was given less than everything must not get everything because a profile, or the whole file, was removed. */
function emptySelection(profiles: Profiles, { agent, profile }: Pick<Principal, 'agent' | 'profile'>): ToolSelection {
  const slug = agentSlug(agent)
  const place = profiles.get(profileKey(slug, DEFAULT_VARIANT))?.place
  const whose = `The profile ${profileKey(slug, profile)}, which is not in profiles.json,`
  return { selectors: NONE, whose, ...(place && { place }) }
}

/** The variants of an agent that profiles.json has, as keys; `default` is there in any case. */
export function listVariants(profiles: Profiles, agent: string): readonly string[] {
  const slug = agentSlug(agent)
  const names = [...profiles].filter(([, profile]) => profile.agent === slug).map(([key]) => key)
  return [...new Set([profileKey(slug, DEFAULT_VARIANT), ...names])].sort()
}
