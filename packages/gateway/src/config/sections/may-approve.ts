import type { Principal } from '@sallyport/core'
import { profileKey } from '../profiles/profile-name.ts'
import type { Profiles } from '../settings.ts'

/**
 * Whether the client of this caller may approve what the caller does: as its profile says, else where a person sits in
 * front of it. Whoever only claims a profile may not.
 */
export function mayApprove(profiles: Profiles, { agent, profile, isClaimed, isAttended }: Principal): boolean {
  if (isClaimed) return false
  return profiles.get(profileKey(agent, profile))?.clientApproval ?? isAttended ?? false
}
