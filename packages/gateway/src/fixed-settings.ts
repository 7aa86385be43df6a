import type { Settings } from './config/config.ts'

/** What the listening ports and those who watch were opened with, as it is written. */
const FIXED_AT_START: Readonly<Record<string, (settings: Settings) => unknown>> = {
  'gateway.host': ({ gateway }) => gateway.host,
  'gateway.port': ({ gateway }) => gateway.port,
  'gateway.allowed_hosts': ({ gateway }) => gateway.allowedHosts,
  'gateway.allowed_origins': ({ gateway }) => gateway.allowedOrigins,
  telemetry: ({ telemetry }) => telemetry,
}

/** What changed that a running gateway cannot follow. */
export function findFixedChanges(before: Settings, after: Settings): readonly string[] {
  const changed = Object.entries(FIXED_AT_START).filter(
    ([, valueIn]) => JSON.stringify(valueIn(before)) !== JSON.stringify(valueIn(after)),
  )
  return changed.map(([key]) => key)
}
