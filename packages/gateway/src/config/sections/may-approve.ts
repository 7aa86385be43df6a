import type { Principal } from '@sallyport/core'
import { profileKey } from '../profiles/profile-name.ts'
import type { Profiles } from '../settings.ts'

/**
 * Whether the client of this caller may approve the caller's calls: as its profile says, else if a person uses the client.
 * A caller that only claimed a profile may not.
 */
export function mayApprove(profiles: Profiles, { agent, profile, isClaimed, isAttended }: Principal): boolean {
  if (isClaimed) return false
  return profiles.get(profileKey(agent, profile))?.clientApproval ?? isAttended ?? false
}
