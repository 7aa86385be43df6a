/** `2026-05-01 10:00:00`, in the reader's own time zone. */
export function formatLocalTime(time: string): string {
  return new Date(time).toLocaleString('sv-SE')
}

/** `10:00:00` today, `2026-05-01 10:00` on another day. */
export function formatShortTime(time: string, now: Date): string {
  const [day = '', clock = ''] = formatLocalTime(time).split(' ')
  return formatLocalTime(now.toISOString()).startsWith(day) ? clock : `${day} ${clock.slice(0, 5)}`
}
