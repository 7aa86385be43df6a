import type { Status } from '../../gateway/src/serve/api/api.ts'

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

export function formatSummary({ version, uptimeMs, servers, tools, sessions, callsInFlight }: Status): string {
  const states = Object.entries(servers).map(([state, count]) => `${count} ${state}`)
  const parts = [
    `version ${version}`,
    `up ${formatDuration(uptimeMs)}`,
    `servers: ${states.join(', ')}`,
    `${tools} tools`,
    `${sessions} sessions`,
    `${callsInFlight} calls under way`,
  ]
  return parts.join(' · ')
}

function formatDuration(milliseconds: number): string {
  const [unit, size] = UNITS.find(([, length]) => milliseconds >= length) ?? ['s', 1_000]
  return `${Math.floor(milliseconds / size)} ${unit}`
}
