import { isIP } from 'node:net'
import { formatDuration, parseDuration } from '@sallyport/core'
import { z } from 'zod'

// The message of every part is what was expected, as the end of "expected …": what was got is added by the reader.

/** The longest time that a timer can hold (2^31 - 1 ms), in whole days. */
const LONGEST = 24 * 86_400_000

interface DurationRule {
  /** What a number without a unit means; `none` where people disagree about it. */
  readonly bare: 'ms' | 's' | 'none'
  readonly least: number
}

/** Milliseconds. */
export function duration(rule: DurationRule) {
  const expected = expectedDuration(rule)
  return z.union([z.number(), z.string()], { error: expected }).transform((value, context) => {
    const ms = readDuration(value, rule)
    if (ms !== undefined && ms >= rule.least && ms <= LONGEST) return Math.round(ms)
    context.issues.push({ code: 'custom', message: expected, input: value })
    return z.NEVER
  })
}

function readDuration(value: number | string, rule: DurationRule): number | undefined {
  if (rule.bare !== 'none') return parseDuration(value, rule.bare)
  const bare = typeof value === 'number' || /^[\s\d.]*$/.test(value)
  return bare && Number(value) !== 0 ? undefined : parseDuration(value, 'ms')
}

function expectedDuration({ bare, least }: DurationRule): string {
  const unit = { ms: ', or a number of milliseconds', s: ', or a number of seconds', none: ', with its unit' }[bare]
  const from = least === 0 ? '' : `, at least ${formatDuration(least)}`
  return `a duration such as "30s", "500ms" or "10m"${unit}${from}, at most 24 days`
}

const SIZE_UNITS: Readonly<Record<string, number>> = { '': 1, b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 }
const LARGEST = 1024 ** 3

/** Bytes. `64MB` and `64MiB` both mean 64 × 1024². */
export function byteSize() {
  const expected = 'a size such as "64MB" or "512KB", or a number of bytes, from 1KB to 1GB'
  return z.union([z.number(), z.string()], { error: expected }).transform((value, context) => {
    const bytes = readSize(String(value))
    if (bytes !== undefined && bytes >= 1024 && bytes <= LARGEST) return bytes
    context.issues.push({ code: 'custom', message: expected, input: value })
    return z.NEVER
  })
}

function readSize(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(b|[kmg](?:i?b)?)?\s*$/i.exec(text)
  if (match === null) return undefined
  return Math.round(Number(match[1]) * (SIZE_UNITS[(match[2] ?? '').charAt(0).toLowerCase()] ?? 1))
}

/** A whole number, also as the text that a variable gave. */
export function wholeNumber(least: number, most: number) {
  const expected = `a whole number from ${least} to ${most}`
  return z.union([z.number(), z.string()], { error: expected }).transform((value, context) => {
    const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
    if (typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most) return number
    context.issues.push({ code: 'custom', message: expected, input: value })
    return z.NEVER
  })
}

/** True or false, also as the text that a variable gave. YAML 1.2 has no yes and no. */
export function flag() {
  return z
    .union([z.boolean(), z.enum(['true', 'false'])], { error: 'true or false' })
    .transform((value) => value === true || value === 'true')
}

export function text(expected = 'a text') {
  return z.string({ error: expected }).min(1, { error: `${expected}, not empty` })
}

export function textList(expected = 'a list of texts') {
  return z.array(text('a text'), { error: expected })
}

export function oneOf<const Values extends readonly [string, ...string[]]>(values: Values) {
  const names = values.map((value) => `"${value}"`)
  return z.enum(values, { error: names.length === 1 ? `${names[0]}` : `one of ${names.join(', ')}` })
}

/** What a process or a header line gets as text anyway: `8080` and `true` need no quotes. */
export const plainText = z
  .union([z.string(), z.number(), z.boolean()], { error: 'a text' })
  .transform(String)
  .refine((value) => !value.includes('\0'), { error: 'a text without NUL characters' })

/** Does this name only this machine? A name that must be looked up could come to mean another. */
export function isLoopback(host: string): boolean {
  if (host === 'localhost' || host === '::1') return true
  return isIP(host) === 4 && host.startsWith('127.')
}
