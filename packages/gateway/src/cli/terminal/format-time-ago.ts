const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** `3m ago`: how long ago something was, in its largest unit. */
export function formatTimeAgo(time: Date, now: Date): string {
  const past = now.getTime() - time.getTime()
  for (const [unit, length] of UNITS) if (past >= length) return `${Math.floor(past / length)}${unit} ago`
  return 'now'
}
