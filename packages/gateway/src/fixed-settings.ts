import type { Settings } from './config/config.ts'

/** What the listening ports were opened with, as it is written. */
const FIXED_AT_START = {
  host: 'host',
  port: 'port',
  allowedHosts: 'allowed_hosts',
  allowedOrigins: 'allowed_origins',
} as const

/** The keys of `gateway` whose change takes effect at the next start only. */
export function fixedAtStart({ gateway: before }: Settings, { gateway: after }: Settings): readonly string[] {
  const keys = Object.keys(FIXED_AT_START) as (keyof typeof FIXED_AT_START)[]
  return keys
    .filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]))
    .map((key) => FIXED_AT_START[key])
}
