import { basename } from 'node:path'
import { didYouMean, type Principal, SallyportError } from '@sallyport/core'
import { agentSlug, DEFAULT_VARIANT, isDefaultVariant, profileKey } from '../profiles/profile-name.ts'
import type { ProfileSettings, Profiles, SourceLocation } from '../settings.ts'

/** A profile that a caller asks to be held to. */
export interface RequestedProfile {
  readonly agent: string
  readonly variant: string
}

/** What callers were narrowed to. The same again is the same object: others keep by it what they have printed of a caller. */
const narrowed = new WeakMap<Principal, Map<string, Principal>>()
/** Of one caller: it may name any agent. */
const MAX_NARROWED = 100

/**
 * The same caller, held to a profile that it chose. A credential that was made for one can choose no other, and a
 * misspelt profile is an error: taken for one without a selection it would give everything.
 */
export function narrowPrincipal(
  profiles: Profiles,
  principal: Principal,
  asked: RequestedProfile,
): Principal | SallyportError {
  const agent = agentSlug(asked.agent)
  const wanted = profileKey(agent, asked.variant)
  const isOwnAgent = agentSlug(principal.agent) === agent
  const isOwnVariant = profileKey(agent, principal.profile) === wanted
  if (!isOwnAgent && principal.agent !== 'any') return wrongProfileError(principal, wanted)
  if (!isOwnVariant && !isDefaultVariant(principal.profile)) return wrongProfileError(principal, wanted)
  if (isOwnAgent && isOwnVariant) return principal
  if (!isDefaultVariant(asked.variant) && !profiles.has(wanted))
    return unknownProfileError(profiles, agent, asked.variant)
  return createNarrowed(principal, { agent, variant: asked.variant })
}

function createNarrowed(principal: Principal, { agent, variant }: RequestedProfile): Principal {
  const known = narrowed.get(principal) ?? new Map<string, Principal>()
  const name = `${agent}\n${variant}`
  const before = known.get(name)
  if (before) return before
  if (known.size >= MAX_NARROWED) known.clear()
  const madeFor = { agent: principal.agent, profile: principal.profile }
  const held: Principal = { ...principal, agent, profile: variant, isClaimed: true, madeFor }
  narrowed.set(principal, known.set(name, held))
  return held
}

const wrongProfileError = ({ agent, profile }: Principal, wanted: string): SallyportError =>
  new SallyportError('FORBIDDEN', `This credential was made for ${agent}.${profile}, not for ${wanted}.`)

/** Names those that there are. */
export function unknownProfileError(profiles: Profiles, agent: string, variant: string): SallyportError {
  const known = listVariants(profiles, agent)
  const name = profileKey(agent, variant)
  if (known.includes(name))
    return new SallyportError('PROFILE_UNKNOWN', `profiles.json does not name ${agent}: its default has all tools.`, {
      hint: `\`sallyport profiles set ${agent}\` makes it.`,
    })
  return new SallyportError('PROFILE_UNKNOWN', `There is no profile ${name}.${didYouMean(name, known)}`, {
    hint: `profiles.json has ${known.slice(0, 20).join(', ')}${known.length > 20 ? ', …' : ''} for this agent; \`sallyport profiles set\` makes another.`,
  })
}

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
function listVariants(profiles: Profiles, agent: string): readonly string[] {
  const slug = agentSlug(agent)
  const names = [...profiles].filter(([, profile]) => profile.agent === slug).map(([key]) => key)
  return [...new Set([profileKey(slug, DEFAULT_VARIANT), ...names])].sort()
}
