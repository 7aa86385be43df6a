import { formatDuration, isJsonObject, type Json, type JsonObject, parseDuration } from '@sallyport/core'
import { anything, leaf, list, type OptionalSchema, optional, type Schema } from './schema.ts'

/** The longest time that a timer can hold (2^31 - 1 ms), in whole days. */
const MAX_TIMER_MS = 24 * 86_400_000

const NUMBER_OR_STRING = { type: ['number', 'string'] } as const

interface DurationOptions {
  /** What a number without a unit means; `none` where people disagree about it. */
  readonly defaultUnit: 'ms' | 's' | 'none'
  readonly min: number
  /** What a timer can hold, unless it is no timer. */
  readonly max?: number
}

/** Milliseconds. */
export function duration(rule: DurationOptions): Schema<number> {
  return leaf({
    expected: describeDuration(rule),
    jsonSchema: NUMBER_OR_STRING,
    convert: (value) => {
      const ms = readDuration(value, rule)
      return ms !== undefined && ms >= rule.min && ms <= (rule.max ?? MAX_TIMER_MS) ? Math.round(ms) : undefined
    },
  })
}

function readDuration(value: unknown, rule: DurationOptions): number | undefined {
  if (rule.defaultUnit !== 'none') return parseDuration(value, rule.defaultUnit)
  const bare = typeof value === 'number' || (typeof value === 'string' && /^[\s\d.]*$/.test(value))
  return bare && Number(value) !== 0 ? undefined : parseDuration(value, 'ms')
}

function describeDuration({ defaultUnit, min, max = MAX_TIMER_MS }: DurationOptions): string {
  const unit = { ms: ', or a number of milliseconds', s: ', or a number of seconds', none: ', with its unit' }[
    defaultUnit
  ]
  const from = min === 0 ? '' : `, at least ${formatDuration(min)}`
  return `a duration such as "30s", "500ms" or "10m"${unit}${from}, at most ${max / 86_400_000} days`
}

const SIZE_UNITS: Readonly<Record<string, number>> = { '': 1, b: 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3, t: 1024 ** 4 }

/** Bytes. `64MB` and `64MiB` both mean 64 × 1024². */
export function byteSize(least = '1KB', most = '1GB'): Schema<number> {
  const [from = 0, to = 0] = [parseSize(least), parseSize(most)]
  return leaf({
    expected: `a size such as "64MB" or "512KB", or a number of bytes, from ${least} to ${most}`,
    jsonSchema: NUMBER_OR_STRING,
    convert: (value) => {
      const bytes = typeof value === 'number' || typeof value === 'string' ? parseSize(String(value)) : undefined
      return bytes !== undefined && bytes >= from && bytes <= to ? bytes : undefined
    },
  })
}

function parseSize(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(b|[kmgt](?:i?b)?)?\s*$/i.exec(text)
  if (match === null) return undefined
  return Math.round(Number(match[1]) * (SIZE_UNITS[(match[2] ?? '').charAt(0).toLowerCase()] ?? 1))
}

/** A whole number, also as the text that a variable gave. */
export function integer(least: number, most: number): Schema<number> {
  return leaf({
    expected: `a whole number from ${least} to ${most}`,
    jsonSchema: NUMBER_OR_STRING,
    convert: (value) => {
      const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
      const fits = typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most
      return fits ? number : undefined
    },
  })
}

/** True or false, also as the text that a variable gave. YAML 1.2 has no yes and no. */
export function flag(): Schema<boolean> {
  return leaf({
    expected: 'true or false',
    jsonSchema: { anyOf: [{ type: 'boolean' }, { type: 'string', enum: ['true', 'false'] }] },
    convert: (value) => {
      if (value === true || value === 'true') return true
      return value === false || value === 'false' ? false : undefined
    },
  })
}

const asString = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)

/** A text that may be empty. */
export function anyString(): Schema<string> {
  return leaf({ expected: 'a text', jsonSchema: { type: 'string' }, convert: asString })
}

export function nonEmptyString(expected = 'a text', longest = Number.POSITIVE_INFINITY): Schema<string> {
  return leaf({
    expected,
    jsonSchema: { type: 'string', minLength: 1, ...(Number.isFinite(longest) && { maxLength: longest }) },
    convert: asString,
    fault: (value) => {
      if (value === '') return `${expected}, not empty`
      return value.length > longest ? `${expected} of at most ${longest} characters` : undefined
    },
  })
}

export function stringList(expected = 'a list of texts'): Schema<readonly string[]> {
  return list(expected, nonEmptyString())
}

export function oneOf<const Value extends string>(values: readonly Value[]): Schema<Value> {
  const names = values.map((value) => `"${value}"`)
  return leaf({
    expected: names.length === 1 ? `${names[0]}` : `one of ${names.join(', ')}`,
    jsonSchema: { type: 'string', enum: values },
    candidates: values,
    convert: (given) => values.find((value) => value === given),
  })
}

/** One of some words, in any case. */
export function oneOfAnyCase<const Value extends string>(values: readonly Value[]): Schema<Value> {
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
export const finiteNumber: Schema<number> = leaf({
  expected: 'a number',
  jsonSchema: { type: 'number' },
  convert: (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined),
})

/** Any value that JSON can carry. */
export const json: Schema<Json> = { read: (value) => ({ ok: true, value: value as Json }), jsonSchema: () => ({}) }

/** A mapping that others read. */
export function mapping(expected: string): Schema<JsonObject> {
  return leaf({
    expected,
    jsonSchema: { type: 'object' },
    convert: (value) => (isJsonObject(value) ? value : undefined),
  })
}

/** What a process or a header line gets as text anyway: `8080` and `true` need no quotes. */
export const coercedString: Schema<string> = leaf({
  expected: 'a text',
  jsonSchema: { type: ['string', 'number', 'boolean'] },
  convert: (value) =>
    typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value) ? String(value) : undefined,
  fault: (value) => (value.includes('\0') ? 'a text without NUL characters' : undefined),
})

/** Keys that are accepted as they are, and not read here. */
export function unchecked<const Keys extends readonly string[]>(keys: Keys) {
  const shape = Object.fromEntries(keys.map((key) => [key, optional(anything)]))
  return shape as Readonly<Record<Keys[number], OptionalSchema<Schema>>>
}
