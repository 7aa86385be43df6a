import { SallyportError } from '../errors.ts'
import { isJsonObject, type JsonObject } from '../json/json.ts'
import { quoteText } from '../text/excerpt.ts'
import { didYouMean } from '../text/find-closest.ts'

/** How many parts are shown at the beginning and at the end. */
export interface Ends {
  readonly head: number
  readonly tail: number
}

/** How much of a large result the caller sees (ISO-13). */
export interface Preset {
  /** In characters. A text up to this length is unchanged, and no preview is longer. */
  readonly threshold: number
  readonly previewTokens: number
  /** Of CSV, TSV and NDJSON. */
  readonly rows: Ends
  readonly lines: Ends
  /** Of each array in JSON. */
  readonly items: Ends
  /** Of each object in JSON. */
  readonly keys: number
  /** Images, audio and other binary data up to this size pass unchanged. */
  readonly mediaBytes: number
  /** Show as many rows, lines, items and keys as the threshold allows, whatever the numbers above are. */
  readonly fills?: boolean
  /** With `fills`: the maximum number of lines and rows. */
  readonly maxLines?: number | undefined
}

export type Presets = Readonly<Record<string, Preset>>

const DEFAULT: Preset = {
  threshold: 5_000,
  previewTokens: 500,
  rows: { head: 20, tail: 10 },
  lines: { head: 50, tail: 20 },
  items: { head: 10, tail: 5 },
  keys: 20,
  mediaBytes: 1_000_000,
}

export const PRESETS: Presets = {
  default: DEFAULT,
  sql_query: { ...DEFAULT, threshold: 2_000, previewTokens: 1_000, rows: { head: 30, tail: 10 } },
  log_search: { ...DEFAULT, threshold: 10_000, previewTokens: 300 },
}

interface Bounds {
  readonly min: number
  readonly max: number
}

/** The notice with its handle has to fit. Below the minimum nothing of the text would be left. */
const NUMBER_BOUNDS: Readonly<Record<'threshold' | 'previewTokens' | 'keys' | 'mediaBytes', Bounds>> = {
  threshold: { min: 400, max: 1_000_000 },
  previewTokens: { min: 150, max: 1_000_000 },
  keys: { min: 1, max: 10_000 },
  mediaBytes: { min: 0, max: 100_000_000 },
}
const ENDS_KEYS = ['rows', 'lines', 'items'] as const
const ENDS_BOUNDS: Bounds = { min: 0, max: 10_000 }
const KEYS: readonly string[] = [...Object.keys(NUMBER_BOUNDS), ...ENDS_KEYS]

/** The preset with this name. An unknown name is an error that suggests a similar one. */
export function findPreset(name: string, presets: Presets = PRESETS): Preset {
  const preset = Object.hasOwn(presets, name) ? presets[name] : undefined
  if (preset !== undefined) return preset
  const names = Object.keys(presets)
  throw new SallyportError('USAGE', `There is no preset ${quoteText(name, 60)} for results.`, {
    hint: `${didYouMean(name, names).trimStart()} There are: ${names.join(', ')}.`.trimStart(),
  })
}

/** The built-in presets and the written ones. A written preset contains only what differs from the one it replaces. */
export function readPresets(written: JsonObject): Presets {
  const own = Object.entries(written).map(([name, fields]) => {
    if (!isJsonObject(fields))
      throw presetError(name, `is ${formatValue(fields)}`, 'Expected settings such as { threshold: 5000 }.')
    return [name, readPreset(name, fields)] as const
  })
  return { ...PRESETS, ...Object.fromEntries(own) }
}

function readPreset(name: string, fields: JsonObject): Preset {
  const base = Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined
  const entries = Object.entries(fields).map(([key, value]) => {
    const known = toKnownKey(key)
    if (!KEYS.includes(known))
      throw presetError(
        name,
        `has an unknown key ${quoteText(key, 40)}`,
        `Known: ${KEYS.join(', ')}.${didYouMean(key, KEYS)}`,
      )
    return [known, readField({ name, key: known, value })] as const
  })
  return { ...(base ?? DEFAULT), ...Object.fromEntries(entries) }
}

interface Field {
  readonly name: string
  readonly key: string
  readonly value: unknown
}

function readField(field: Field): number | Ends {
  if (Object.hasOwn(NUMBER_BOUNDS, field.key))
    return readNumber(field, NUMBER_BOUNDS[field.key as keyof typeof NUMBER_BOUNDS])
  const { name, key, value } = field
  if (!isJsonObject(value) || Object.keys(value).some((part) => part !== 'head' && part !== 'tail'))
    throw presetError(name, `has ${key}: ${formatValue(value)}`, 'Expected { head: 20, tail: 10 }.')
  return {
    head: readNumber({ name, key: `${key}.head`, value: value.head }, ENDS_BOUNDS),
    tail: readNumber({ name, key: `${key}.tail`, value: value.tail }, ENDS_BOUNDS),
  }
}

function readNumber({ name, key, value }: Field, { min, max }: Bounds): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= min && value <= max) return value
  throw presetError(name, `has ${key}: ${formatValue(value)}`, `Expected a whole number from ${min} to ${max}.`)
}

const presetError = (name: string, problem: string, hint: string): SallyportError =>
  new SallyportError('USAGE', `The preset ${quoteText(name, 60)} ${problem}.`, { hint })

const formatValue = (value: unknown): string =>
  value === undefined ? 'undefined' : quoteText(String(JSON.stringify(value)), 40)

const toKnownKey = (key: string): string => key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
