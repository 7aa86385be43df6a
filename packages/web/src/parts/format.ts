const NUMBER = new Intl.NumberFormat('en')

export const formatNumber = (value: number): string => NUMBER.format(value)

export const formatCount = (count: number, noun: string): string =>
  `${formatNumber(count)} ${noun}${count === 1 ? '' : 's'}`

/** `12.4k`: for columns where the exact number does not matter. */
export function formatShort(value: number): string {
  if (value < 1_000) return String(value)
  const [size, unit] = value < 1_000_000 ? ([1_000, 'k'] as const) : ([1_000_000, 'M'] as const)
  return `${(value / size).toFixed(value < 10 * size ? 1 : 0)}${unit}`
}

export function formatMs(ms: number): string {
  if (ms < 1) return `${ms.toFixed(2)} ms`
  if (ms < 10) return `${ms.toFixed(1)} ms`
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  return formatDuration(ms)
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** `3 min`: the largest unit that fits. */
function formatDuration(ms: number): string {
  const [unit, size] = UNITS.find(([, length]) => ms >= length) ?? ['s', 1_000]
  return `${Math.floor(ms / size)} ${unit}`
}

/** `2 h ago`, where times are compared. */
export const formatAgo = (ms: number): string => (ms < 60_000 ? 'just now' : `${formatDuration(ms)} ago`)

/** `1:42`, for countdowns. */
export function formatCountdown(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000))
  const minutes = Math.floor(seconds / 60)
  if (minutes >= 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  return `${minutes}:${String(seconds % 60).padStart(2, '0')}`
}

const pad = (value: number, length = 2): string => String(value).padStart(length, '0')

/** `14:02:09`, or with milliseconds where calls are told apart by them. */
export function formatClock(time: string | number, precision: 'min' | 's' | 'ms' = 's'): string {
  const date = new Date(time)
  const minutes = `${pad(date.getHours())}:${pad(date.getMinutes())}`
  if (precision === 'min') return minutes
  const seconds = `${minutes}:${pad(date.getSeconds())}`
  return precision === 's' ? seconds : `${seconds}.${pad(date.getMilliseconds(), 3)}`
}

/** The time of today, otherwise with the date. */
export function formatWhen(time: string | number, now = new Date()): string {
  const date = new Date(time)
  const clock = formatClock(time, 'min')
  if (date.toDateString() === now.toDateString()) return clock
  return `${date.toLocaleDateString('en', { day: 'numeric', month: 'short' })} ${clock}`
}

/** The file without its folders: `tools.yaml:48`. */
export const formatRule = ({ file, line }: { readonly file: string; readonly line: number }): string =>
  `${file.split(/[\\/]/).at(-1)}:${line}`

const BYTE_UNITS = ['bytes', 'kB', 'MB', 'GB'] as const

/** `12.9 kB`. */
export function formatBytes(bytes: number): string {
  const power = bytes < 1_000 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log10(bytes) / 3))
  const size = bytes / 1_000 ** power
  return `${power === 0 || size >= 100 ? formatNumber(Math.round(size)) : size.toFixed(1)} ${BYTE_UNITS[power]}`
}

const SHORT_LENGTH = 80

/** A name of somebody else where there is room for one line only. */
export const cutShort = (text: string): string =>
  text.length > SHORT_LENGTH ? `${text.slice(0, SHORT_LENGTH)}…` : text
