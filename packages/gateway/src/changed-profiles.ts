import { isDeepStrictEqual } from 'node:util'
import type { Profiles, Settings } from './config/config.ts'

/** Whether everything but profiles.json says what it said before. */
export function differOnlyInProfiles(before: Settings, after: Settings): boolean {
  return isDeepStrictEqual({ ...before, profiles: undefined }, { ...after, profiles: undefined })
}

/** The names of profiles that came, went or say something else. Where they stand makes no difference. */
export function listChangedProfiles(before: Profiles, after: Profiles): readonly string[] {
  const said = (profiles: Profiles, name: string): unknown => {
    const profile = profiles.get(name)
    return profile && { ...profile, place: undefined }
  }
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].filter((name) => !isDeepStrictEqual(said(before, name), said(after, name))).sort()
}
