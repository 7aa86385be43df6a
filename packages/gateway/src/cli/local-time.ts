/** `2026-05-01 10:00:00`, in the reader's own time zone. */
export function localTime(time: string): string {
  return new Date(time).toLocaleString('sv-SE')
}
