import { quoteText, SallyportError } from '@sallyport/core'
import type { Home } from '../home/home.ts'
import { renewTrust } from '../home/trust.ts'
import { unknownProfileError } from '../sections/narrow-principal.ts'
import type { ProfileSettings, Profiles } from '../settings.ts'
import { type ProfileRef, type ProfileUpdate, removeProfile, setProfile } from './profile-edit.ts'
import { agentSlug, DEFAULT_VARIANT, foldVariant, profileKey } from './profile-name.ts'
import { findVariantProblem } from './profiles.ts'
import { changeProfilesFile, type ProfilesChange, type ProfilesFile, readProfilesFile } from './profiles-file.ts'

export interface ProfilesEditorOptions {
  readonly home: Home
  readonly state: string
  /** What was written may be put in force at once. */
  readonly onWritten?: (profiles: Profiles) => void
}

const AGENT = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
const MAX_AGENT_LENGTH = 64

/** Where profiles are looked at and changed, whether or not a gateway runs. */
export class ProfilesEditor {
  readonly #options: ProfilesEditorOptions

  constructor(options: ProfilesEditorOptions) {
    this.#options = options
  }

  read(): Promise<ProfilesFile> {
    return readProfilesFile(this.#options.home.path)
  }

  /** `etag`: the change is meant for this state of the file alone. */
  async set(ref: ProfileRef, wish: ProfileUpdate, etag?: string): Promise<ProfilesFile> {
    requireNames(ref)
    return this.#change({ edit: ({ text }) => setProfile(text, ref, wish), etag })
  }

  async remove(ref: ProfileRef, etag?: string): Promise<ProfilesFile> {
    if (foldVariant(ref.variant) === DEFAULT_VARIANT)
      throw new SallyportError('INVALID_PARAMS', `The variant DEFAULT of an agent cannot be deleted.`, {
        hint: 'To give it all tools again, take its selection away: `sallyport profiles set <agent> --all`.',
      })
    return this.#change({
      edit: ({ text, profiles }) => {
        requireProfile(profiles, ref)
        return removeProfile(text, ref)
      },
      etag,
    })
  }

  async #change(change: Omit<ProfilesChange, 'onWritten' | 'onSettled'>): Promise<ProfilesFile> {
    const { home, state, onWritten } = this.#options
    return changeProfilesFile(home.path, {
      ...change,
      onWritten: (written) => renewTrust({ home, state }, 'profiles.json', written),
      // Of a home that came with a folder only what is trusted counts: whoever follows its files judges that.
      onSettled: ({ profiles }) => (home.origin === 'project' ? undefined : onWritten?.(profiles)),
    })
  }
}

/** The profile, or an error that names those that there are. */
export function requireProfile(profiles: Profiles, { agent, variant }: ProfileRef): ProfileSettings {
  const found = profiles.get(profileKey(agentSlug(agent), variant))
  if (found) return found
  throw unknownProfileError(profiles, agentSlug(agent), variant)
}

/** A profile as it counts, which need not stand in the file. */
export type EffectiveProfile = Omit<ProfileSettings, 'place'> & Partial<Pick<ProfileSettings, 'place'>>

/** The same, but for an agent that the file does not name: it has a default nevertheless, with all tools. */
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
      hint: 'Small letters, digits and single hyphens are expected, as in claude-code.',
    })
  const flaw = findVariantProblem(variant)
  if (flaw === undefined) return
  throw new SallyportError('INVALID_PARAMS', `${quoteText(variant, 80)} cannot be the name of a variant: ${flaw}`)
}
