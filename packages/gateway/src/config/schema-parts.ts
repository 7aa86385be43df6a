import { formatDuration, isJsonObject, type Json, type JsonObject, parseDuration } from '@sallyport/core'
import { anything, leaf, list, type OptionalPart, optional, type Part } from './schema.ts'

/** The longest time that a timer can hold (2^31 - 1 ms), in whole days. */
const LONGEST = 24 * 86_400_000

const NUMBER_OR_TEXT = { type: ['number', 'string'] } as const

interface DurationRule {
  /** What a number without a unit means; `none` where people disagree about it. */
  readonly bare: 'ms' | 's' | 'none'
  readonly least: number
}

/** Milliseconds. */
export function duration(rule: DurationRule): Part<number> {
  return leaf({
    expected: expectedDuration(rule),
    jsonSchema: NUMBER_OR_TEXT,
    convert: (value) => {
      const ms = readDuration(value, rule)
      return ms !== undefined && ms >= rule.least && ms <= LONGEST ? Math.round(ms) : undefined
    },
  })
}

function readDuration(value: unknown, rule: DurationRule): number | undefined {
  if (rule.bare !== 'none') return parseDuration(value, rule.bare)
  const bare = typeof value === 'number' || (typeof value === 'string' && /^[\s\d.]*$/.test(value))
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
export function byteSize(): Part<number> {
  return leaf({
    expected: 'a size such as "64MB" or "512KB", or a number of bytes, from 1KB to 1GB',
    jsonSchema: NUMBER_OR_TEXT,
    convert: (value) => {
      const bytes = typeof value === 'number' || typeof value === 'string' ? readSize(String(value)) : undefined
      return bytes !== undefined && bytes >= 1024 && bytes <= LARGEST ? bytes : undefined
    },
  })
}

function readSize(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(b|[kmg](?:i?b)?)?\s*$/i.exec(text)
  if (match === null) return undefined
  return Math.round(Number(match[1]) * (SIZE_UNITS[(match[2] ?? '').charAt(0).toLowerCase()] ?? 1))
}

/** A whole number, also as the text that a variable gave. */
export function wholeNumber(least: number, most: number): Part<number> {
  return leaf({
    expected: `a whole number from ${least} to ${most}`,
    jsonSchema: NUMBER_OR_TEXT,
    convert: (value) => {
      const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
      const fits = typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most
      return fits ? number : undefined
    },
  })
}

/** True or false, also as the text that a variable gave. YAML 1.2 has no yes and no. */
export function flag(): Part<boolean> {
  return leaf({
    expected: 'true or false',
    jsonSchema: { anyOf: [{ type: 'boolean' }, { type: 'string', enum: ['true', 'false'] }] },
    convert: (value) => {
      if (value === true || value === 'true') return true
      return value === false || value === 'false' ? false : undefined
    },
  })
}

const asText = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** A text that may be empty. */
export function prose(): Part<string> {
  return leaf({ expected: 'a text', jsonSchema: { type: 'string' }, convert: asText })
}

export function text(expected = 'a text', longest = Number.POSITIVE_INFINITY): Part<string> {
  return leaf({
    expected,
    jsonSchema: { type: 'string', minLength: 1, ...(Number.isFinite(longest) && { maxLength: longest }) },
    convert: asText,
    fault: (value) => {
      if (value === '') return `${expected}, not empty`
      return value.length > longest ? `${expected} of at most ${longest} characters` : undefined
    },
  })
}

export function textList(expected = 'a list of texts'): Part<readonly string[]> {
  return list(expected, text())
}

export function oneOf<const Value extends string>(values: readonly Value[]): Part<Value> {
  const names = values.map((value) => `"${value}"`)
  return leaf({
    expected: names.length === 1 ? `${names[0]}` : `one of ${names.join(', ')}`,
    jsonSchema: { type: 'string', enum: values },
    candidates: values,
    convert: (given) => values.find((value) => value === given),
  })
}

/** One of some words, in any case. */
export function anyCase<const Value extends string>(values: readonly Value[]): Part<Value> {
  const written = values.flatMap((value) => [value, value.toLowerCase(), value.toUpperCase()])
  return leaf({
    expected: `one of ${values.join(', ')}`,
    jsonSchema: { type: 'string', enum: [...new Set(written)] },
    candidates: values,
    convert: (given) =>
      typeof given === 'string' ? values.find((value) => value.toLowerCase() === given.toLowerCase()) : undefined,
  })
}

/** Any number but those that JSON does not have. */
export const finiteNumber: Part<number> = leaf({
  expected: 'a number',
  jsonSchema: { type: 'number' },
  convert: (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined),
})

/** Any value that JSON can carry. */
export const json: Part<Json> = { read: (value) => ({ ok: true, value: value as Json }), jsonSchema: () => ({}) }

/** A mapping that others read. */
export function mapping(expected: string): Part<JsonObject> {
  return leaf({
    expected,
    jsonSchema: { type: 'object' },
    convert: (value) => (isJsonObject(value) ? value : undefined),
  })
}

/** What a process or a header line gets as text anyway: `8080` and `true` need no quotes. */
export const plainText: Part<string> = leaf({
  expected: 'a text',
  jsonSchema: { type: ['string', 'number', 'boolean'] },
  convert: (value) =>
    typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value) ? String(value) : undefined,
  fault: (value) => (value.includes('\0') ? 'a text without NUL characters' : undefined),
})

/** Keys that are accepted as they are, and not read here. */
export function unread<const Keys extends readonly string[]>(keys: Keys) {
  const shape = Object.fromEntries(keys.map((key) => [key, optional(anything)]))
  return shape as Readonly<Record<Keys[number], OptionalPart<Part>>>
}
