const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * Reads `500ms`, `30s`, `10m`, `2h`, `1d`, or a bare number in the given unit. Returns milliseconds; `undefined` if it
 * is not a valid duration.
 */
export function parseDuration(value: unknown, bareUnit: 'ms' | 's'): number | undefined {
  const match = typeof value === 'string' ? /^\s*(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?\s*$/.exec(value) : undefined
  const amount = typeof value === 'number' ? value : Number(match?.[1] ?? Number.NaN)
  const ms = amount * (UNITS[match?.[2] ?? bareUnit] ?? 1)
  return Number.isFinite(ms) && ms >= 0 ? ms : undefined
}

/** `1.2 s`, `350 ms`, `4 min`: a duration for a person. */
export function formatDuration(ms: number): string {
  // The limits are the values that would be rounded to one of the next unit.
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (ms < 59_950) return `${(ms / 1_000).toFixed(1)} s`
  if (ms < 3_570_000) return `${Math.round(ms / 60_000)} min`
  return `${(ms / 3_600_000).toFixed(1)} h`
}
