import { isDeepStrictEqual } from 'node:util'
import type { Profiles, Settings } from '../config/config.ts'

/** Settings that ports and telemetry read only when they open, by their config keys. */
const FIXED_AT_START: Readonly<Record<string, (settings: Settings) => unknown>> = {
  'gateway.host': ({ gateway }) => gateway.host,
  'gateway.port': ({ gateway }) => gateway.port,
  'gateway.allowed_hosts': ({ gateway }) => gateway.allowedHosts,
  'gateway.allowed_origins': ({ gateway }) => gateway.allowedOrigins,
  telemetry: ({ telemetry }) => telemetry,
}

/** The changed settings that a running gateway cannot apply. */
export function findFixedChanges(before: Settings, after: Settings): readonly string[] {
  const changed = Object.entries(FIXED_AT_START).filter(
    ([, valueIn]) => JSON.stringify(valueIn(before)) !== JSON.stringify(valueIn(after)),
  )
  return changed.map(([key]) => key)
}

/** Whether everything except profiles.json is unchanged. */
export function differOnlyInProfiles(before: Settings, after: Settings): boolean {
  return isDeepStrictEqual({ ...before, profiles: undefined }, { ...after, profiles: undefined })
}

/** The names of profiles that were added, removed or changed. Their source location does not matter. */
export function listChangedProfiles(before: Profiles, after: Profiles): readonly string[] {
  const contentOf = (profiles: Profiles, name: string): unknown => {
    const profile = profiles.get(name)
    return profile && { ...profile, location: undefined }
  }
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].filter((name) => !isDeepStrictEqual(contentOf(before, name), contentOf(after, name))).sort()
}
