import { parseDuration, SallyportError } from '@sallyport/core'

const ISO = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/

/** Parses `1h` (ago), `2026-05-01` or `2026-05-01T10:00:00Z`; a time without a zone is local time. */
export function parseTimestamp(text: string, now: Date): Date {
  const ago = parseDuration(text, 's')
  // A bare number is more likely a mistyped year or a Unix time than a number of seconds.
  const isAgo = ago !== undefined && /[a-z]/.test(text)
  const time = isAgo
    ? new Date(now.getTime() - ago)
    : new Date(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00` : text)
  if ((isAgo || ISO.test(text)) && !Number.isNaN(time.getTime())) return time
  throw new SallyportError('USAGE', `"${text}" is not a valid time.`, {
    hint: 'Write how long ago (30s, 15m, 1h, 7d) or a date and time (2026-05-01, 2026-05-01T10:00:00Z).',
  })
}
