import { createHash } from 'node:crypto'
import type { ProfileSettings } from '../settings.ts'

/** The version of a profile that does not exist: who expects it creates one. */
export const NO_PROFILE = 'none'

/** Changes whenever a field of the profile changes, and with nothing else in the file. */
export function profileEtag(profile: ProfileSettings | undefined): string {
  if (profile === undefined) return NO_PROFILE
  const { location: _location, ...fields } = profile
  const sorted = Object.entries(fields).sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex')
}
