import {
  DEFAULT_VARIANT,
  getSelectedMcpTools,
  ProfilesEditor,
  profileKey,
  requireProfile,
} from '../../config/config.ts'
import type { FoundHome } from '../find-home.ts'

export interface LaunchProfileQuery {
  readonly agent: string
  readonly variant: string
}

export interface LaunchProfile {
  /** What it selects; undefined: everything. */
  readonly selection: readonly string[] | undefined
  /** The session that its runs share, where it names one. */
  readonly session: string | undefined
}

/** The profile that a run is for. A misspelt one is an error, and not one without a selection. */
export async function readLaunchProfile(
  { home, state }: Pick<FoundHome, 'home' | 'state'>,
  { agent, variant }: LaunchProfileQuery,
): Promise<LaunchProfile> {
  const { profiles } = await new ProfilesEditor({ home, state }).read()
  if (profileKey(agent, variant) !== profileKey(agent, DEFAULT_VARIANT)) requireProfile(profiles, { agent, variant })
  const session = profiles.get(profileKey(agent, variant))?.session
  return { selection: getSelectedMcpTools(profiles, agent, variant), session }
}
