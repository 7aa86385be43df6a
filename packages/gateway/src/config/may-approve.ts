import type { Principal } from '@sallyport/core'
import { profileKey } from './profile-name.ts'
import type { Profiles } from './settings.ts'

/** Whether the client of this caller may approve what the caller does. Whoever only claims a profile may not. */
export function mayApprove(profiles: Profiles, { agent, profile, isClaimed }: Principal): boolean {
  return !isClaimed && (profiles.get(profileKey(agent, profile))?.clientApproval ?? false)
}
