import { formatDuration, isJsonObject, type Json, type JsonObject, parseDuration } from '@sallyport/core'
import { anything, leaf, list, type OptionalSchema, optional, type Schema } from './schema.ts'

/** The longest delay of a Node timer (2^31 - 1 ms), rounded down to whole days. */
const MAX_TIMER_MS = 24 * 86_400_000

const NUMBER_OR_STRING = { type: ['number', 'string'] } as const

interface DurationOptions {
  /** The unit of a bare number; `none`: a unit is required, because readers would disagree about it. */
  readonly defaultUnit: 'ms' | 's' | 'none'
  readonly min: number
  /** Default: the longest delay of a timer. */
  readonly max?: number
}

/** Returns milliseconds. */
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

/** Returns bytes. `64MB` and `64MiB` both mean 64 × 1024². */
export function byteSize(min = '1KB', max = '1GB'): Schema<number> {
  const [minBytes = 0, maxBytes = 0] = [parseSize(min), parseSize(max)]
  return leaf({
    expected: `a size such as "64MB" or "512KB", or a number of bytes, from ${min} to ${max}`,
    jsonSchema: NUMBER_OR_STRING,
    convert: (value) => {
      const bytes = typeof value === 'number' || typeof value === 'string' ? parseSize(String(value)) : undefined
      return bytes !== undefined && bytes >= minBytes && bytes <= maxBytes ? bytes : undefined
    },
  })
}

function parseSize(text: string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*(b|[kmgt](?:i?b)?)?\s*$/i.exec(text)
  if (match === null) return undefined
  return Math.round(Number(match[1]) * (SIZE_UNITS[(match[2] ?? '').charAt(0).toLowerCase()] ?? 1))
}

/** A whole number, or a string of digits: variables always give strings. */
export function integer(min: number, max: number): Schema<number> {
  return leaf({
    expected: `a whole number from ${min} to ${max}`,
    jsonSchema: NUMBER_OR_STRING,
    convert: (value) => {
      const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value
      const fits = typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max
      return fits ? number : undefined
    },
  })
}

/** True or false, also as a string: variables always give strings. YAML 1.2 has no `yes` and `no`. */
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

/** A string that may be empty. */
export function anyString(): Schema<string> {
  return leaf({ expected: 'a string', jsonSchema: { type: 'string' }, convert: asString })
}

export function nonEmptyString(expected = 'a string', maxLength = Number.POSITIVE_INFINITY): Schema<string> {
  return leaf({
    expected,
    jsonSchema: { type: 'string', minLength: 1, ...(Number.isFinite(maxLength) && { maxLength }) },
    convert: asString,
    findProblem: (value) => {
      if (value === '') return `${expected}, not empty`
      return value.length > maxLength ? `${expected} of at most ${maxLength} characters` : undefined
    },
  })
}

export function stringList(expected = 'a list of strings'): Schema<readonly string[]> {
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

/** One of several words, in upper or lower case. */
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

/** Any number except those that JSON cannot represent. */
export const finiteNumber: Schema<number> = leaf({
  expected: 'a number',
  jsonSchema: { type: 'number' },
  convert: (value) => (typeof value === 'number' && Number.isFinite(value) ? value : undefined),
})

/** Any JSON value. */
export const json: Schema<Json> = { read: (value) => ({ ok: true, value: value as Json }), jsonSchema: () => ({}) }

/** A mapping whose content is validated elsewhere. */
export function mapping(expected: string): Schema<JsonObject> {
  return leaf({
    expected,
    jsonSchema: { type: 'object' },
    convert: (value) => (isJsonObject(value) ? value : undefined),
  })
}

/** A string for a process or a header line: `8080` and `true` need no quotes. */
export const coercedString: Schema<string> = leaf({
  expected: 'a string',
  jsonSchema: { type: ['string', 'number', 'boolean'] },
  convert: (value) =>
    typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value) ? String(value) : undefined,
  findProblem: (value) => (value.includes('\0') ? 'a string without NUL characters' : undefined),
})

/** Keys that are accepted but not read here. */
export function unchecked<const Keys extends readonly string[]>(keys: Keys) {
  const shape = Object.fromEntries(keys.map((key) => [key, optional(anything)]))
  return shape as Readonly<Record<Keys[number], OptionalSchema<Schema>>>
}
