const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Reads `500ms`, `30s`, `10m`, `2h`, `1d`, or a bare number in the given unit. Milliseconds, or nothing if it is no duration. */
export function parseDuration(value: unknown, bareUnit: 'ms' | 's'): number | undefined {
  if (typeof value === 'number')
    return Number.isFinite(value) && value >= 0 ? value * (UNITS[bareUnit] ?? 1) : undefined
  if (typeof value !== 'string') return undefined
  const match = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*$/.exec(value)
  if (!match) return undefined
  return Number(match[1]) * (UNITS[match[2] ?? bareUnit] ?? 1)
}

/** `1.2 s`, `350 ms`, `4 min`: a duration for a person. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  return `${(ms / 3_600_000).toFixed(1)} h`
}
