import { quoteText, SallyportError } from '@sallyport/core'
import type { Home } from '../home/home.ts'
import { renewTrust } from '../home/trust.ts'
import { unknownProfileError } from '../sections/narrow-principal.ts'
import type { ProfileSettings, Profiles } from '../settings.ts'
import { type ProfileRef, type ProfileUpdate, removeProfile, setProfile } from './profile-edit.ts'
import { profileEtag } from './profile-etag.ts'
import { agentSlug, DEFAULT_VARIANT, foldVariant, profileKey } from './profile-name.ts'
import { findVariantProblem } from './profiles.ts'
import { changeProfilesFile, type ProfilesChange, type ProfilesFile, readProfilesFile } from './profiles-file.ts'

export interface ProfilesEditorOptions {
  readonly home: Home
  readonly state: string
  /** Called with the new profiles, so that they can be applied at once. */
  readonly onWritten?: (profiles: Profiles) => void
}

const AGENT = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
const MAX_AGENT_LENGTH = 64

/** Reads and changes profiles.json, whether or not a gateway is running. */
export class ProfilesEditor {
  readonly #options: ProfilesEditorOptions

  constructor(options: ProfilesEditorOptions) {
    this.#options = options
  }

  read(): Promise<ProfilesFile> {
    return readProfilesFile(this.#options.home.path)
  }

  /** With `etag`, the change is made only while this profile has this etag. Changes of other profiles do not matter. */
  async set(ref: ProfileRef, update: ProfileUpdate, etag?: string): Promise<ProfilesFile> {
    requireNames(ref)
    return this.#change({
      edit: ({ text, profiles }) => {
        requireEtag(profiles, ref, etag)
        return setProfile(text, ref, update)
      },
    })
  }

  async remove(ref: ProfileRef, etag?: string): Promise<ProfilesFile> {
    if (foldVariant(ref.variant) === DEFAULT_VARIANT)
      throw new SallyportError('INVALID_PARAMS', `The variant DEFAULT of an agent cannot be deleted.`, {
        hint: 'To give it all tools again, remove its selection: `sallyport profiles set <agent> --all`.',
      })
    return this.#change({
      edit: ({ text, profiles }) => {
        requireProfile(profiles, ref)
        requireEtag(profiles, ref, etag)
        return removeProfile(text, ref)
      },
    })
  }

  async #change(change: Omit<ProfilesChange, 'onWritten' | 'onSettled'>): Promise<ProfilesFile> {
    const { home, state, onWritten } = this.#options
    return changeProfilesFile(home.path, {
      ...change,
      onWritten: (written) => renewTrust({ home, state }, 'profiles.json', written),
      // A project home must be trusted first: whoever watches its files checks that and applies the change.
      onSettled: ({ profiles }) => (home.origin === 'project' ? undefined : onWritten?.(profiles)),
    })
  }
}

function requireEtag(profiles: Profiles, { agent, variant }: ProfileRef, etag: string | undefined): void {
  const name = profileKey(agentSlug(agent), variant)
  if (etag === undefined || etag === profileEtag(profiles.get(name))) return
  throw new SallyportError(
    'PROFILES_CHANGED',
    `${quoteText(name, 80)} was changed after it was read; nothing was written.`,
    {
      hint: 'Read it again, then make the change to its current content.',
    },
  )
}

/** Returns the profile, or throws an error that lists the known ones. */
export function requireProfile(profiles: Profiles, { agent, variant }: ProfileRef): ProfileSettings {
  const found = profiles.get(profileKey(agentSlug(agent), variant))
  if (found) return found
  throw unknownProfileError(profiles, agentSlug(agent), variant)
}

/** A profile that is in effect, even if it is not in the file. */
export type EffectiveProfile = Omit<ProfileSettings, 'location'> & Partial<Pick<ProfileSettings, 'location'>>

/** Like `requireProfile`, but an agent that is not in the file has an implicit default profile with all tools. */
export function findEffectiveProfile(profiles: Profiles, ref: ProfileRef): EffectiveProfile {
  const agent = agentSlug(ref.agent)
  const isImplied = foldVariant(ref.variant) === DEFAULT_VARIANT && !profiles.has(profileKey(agent, DEFAULT_VARIANT))
  if (isImplied) return { agent, variant: DEFAULT_VARIANT.toUpperCase() }
  return requireProfile(profiles, ref)
}

function requireNames({ agent, variant }: ProfileRef): void {
  const slug = agentSlug(agent)
  if (!AGENT.test(slug) || slug.length > MAX_AGENT_LENGTH)
    throw new SallyportError('INVALID_PARAMS', `${quoteText(agent, 80)} is not the name of an agent.`, {
      hint: 'Expected lower-case letters, digits and single hyphens, as in claude-code.',
    })
  const problem = findVariantProblem(variant)
  if (problem === undefined) return
  throw new SallyportError('INVALID_PARAMS', `${quoteText(variant, 80)} cannot be the name of a variant: ${problem}`)
}
