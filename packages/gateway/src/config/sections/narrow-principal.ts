import { basename } from 'node:path'
import { didYouMean, type Principal, SallyportError } from '@sallyport/core'
import { agentSlug, DEFAULT_VARIANT, isDefaultVariant, profileKey } from '../profiles/profile-name.ts'
import type { ProfileSettings, Profiles, SourceLocation } from '../settings.ts'

/** A profile that a caller asks to be limited to. */
export interface RequestedProfile {
  readonly agent: string
  readonly variant: string
}

/** Narrowed callers. The same request returns the same object, because others use it as a cache key. */
const narrowed = new WeakMap<Principal, Map<string, Principal>>()
/** Per caller: a caller may name any agent, so the number must be limited. */
const MAX_NARROWED = 100

/**
 * The same caller, limited to a profile that it chose. A credential that was made for one profile cannot choose another.
 * An unknown profile is an error: treated as a profile without a selection, it would give access to all tools.
 */
export function narrowPrincipal(
  profiles: Profiles,
  principal: Principal,
  requested: RequestedProfile,
): Principal | SallyportError {
  const agent = agentSlug(requested.agent)
  const wanted = profileKey(agent, requested.variant)
  const isOwnAgent = agentSlug(principal.agent) === agent
  const isOwnVariant = profileKey(agent, principal.profile) === wanted
  if (!isOwnAgent && principal.agent !== 'any') return wrongProfileError(principal, wanted)
  if (!isOwnVariant && !isDefaultVariant(principal.profile)) return wrongProfileError(principal, wanted)
  if (isOwnAgent && isOwnVariant) return principal
  if (!isDefaultVariant(requested.variant) && !profiles.has(wanted))
    return unknownProfileError(profiles, agent, requested.variant)
  return createNarrowed(principal, { agent, variant: requested.variant })
}

function createNarrowed(principal: Principal, { agent, variant }: RequestedProfile): Principal {
  const known = narrowed.get(principal) ?? new Map<string, Principal>()
  const name = `${agent}\n${variant}`
  const before = known.get(name)
  if (before) return before
  if (known.size >= MAX_NARROWED) known.clear()
  const madeFor = { agent: principal.agent, profile: principal.profile }
  const created: Principal = { ...principal, agent, profile: variant, isClaimed: true, madeFor }
  narrowed.set(principal, known.set(name, created))
  return created
}

const wrongProfileError = ({ agent, profile }: Principal, wanted: string): SallyportError =>
  new SallyportError('FORBIDDEN', `This credential was made for ${agent}.${profile}, not for ${wanted}.`)

/** The error for an unknown profile. It lists the known ones. */
export function unknownProfileError(profiles: Profiles, agent: string, variant: string): SallyportError {
  const known = listVariants(profiles, agent)
  const name = profileKey(agent, variant)
  if (known.includes(name))
    return new SallyportError('PROFILE_UNKNOWN', `profiles.json does not name ${agent}: its default has all tools.`, {
      hint: `\`sallyport profiles set ${agent}\` creates it.`,
    })
  return new SallyportError('PROFILE_UNKNOWN', `There is no profile ${name}.${didYouMean(name, known)}`, {
    hint: `profiles.json has ${known.slice(0, 20).join(', ')}${known.length > 20 ? ', …' : ''} for this agent; \`sallyport profiles set\` creates another.`,
  })
}

/** A list of selectors that limits a caller, and who defined it. */
export interface ToolSelection {
  readonly selectors: readonly string[]
  /** The start of a refusal message, such as `The profile codex.reviewer (profiles.json:7)`. */
  readonly whose: string
  readonly location?: SourceLocation
}

const NONE: readonly string[] = Object.freeze([])

/** The selectors of an agent's profile. Undefined: all tools. The agent may be written in any accepted form. */
export function getSelectedMcpTools(profiles: Profiles, agent: string, variant: string): readonly string[] | undefined {
  return findSelection(profiles, { agent, profile: variant })?.selectors
}

/** All selections that apply to a caller. Each one can only remove tools. */
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
  const { agent, variant, selectedMcpTools, location } = profile
  if (selectedMcpTools === undefined) return undefined
  const whose = `The profile ${profileKey(agent, variant)} (${basename(location.file)}:${location.line})`
  return { selectors: selectedMcpTools, whose, location }
}

const profileFor = (
  profiles: Profiles,
  { agent, profile }: Pick<Principal, 'agent' | 'profile'>,
): ProfileSettings | undefined => profiles.get(profileKey(agentSlug(agent), profile))

/** A caller with limited access must not get all tools because its profile, or the whole file, was removed. */
function emptySelection(profiles: Profiles, { agent, profile }: Pick<Principal, 'agent' | 'profile'>): ToolSelection {
  const slug = agentSlug(agent)
  const location = profiles.get(profileKey(slug, DEFAULT_VARIANT))?.location
  const whose = `The profile ${profileKey(slug, profile)}, which is not in profiles.json,`
  return { selectors: NONE, whose, ...(location && { location }) }
}

/** The variants of an agent in profiles.json, as keys. `default` is always included. */
function listVariants(profiles: Profiles, agent: string): readonly string[] {
  const slug = agentSlug(agent)
  const names = [...profiles].filter(([, profile]) => profile.agent === slug).map(([key]) => key)
  return [...new Set([profileKey(slug, DEFAULT_VARIANT), ...names])].sort()
}

/**
 * Whether the client of this caller may approve the caller's calls: as its profile says, else if a person uses the client.
 * A caller that only claimed a profile may not.
 */
export function mayApprove(profiles: Profiles, { agent, profile, isClaimed, isAttended }: Principal): boolean {
  if (isClaimed) return false
  return profiles.get(profileKey(agent, profile))?.clientApproval ?? isAttended ?? false
}
