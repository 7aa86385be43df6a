import { didYouMean } from '../closest.ts'
import { SallyportError } from '../errors.ts'
import { quoteText } from '../excerpt.ts'
import { isJsonObject, type JsonObject } from '../json/json.ts'

/** How many are shown of the beginning and of the end. */
export interface Ends {
  readonly head: number
  readonly tail: number
}

/** How much of a large result the caller sees (ISO-13). */
export interface Preset {
  /** In characters. A text of no more is untouched; no preview is longer. */
  readonly threshold: number
  readonly previewTokens: number
  /** Of CSV, TSV and NDJSON. */
  readonly rows: Ends
  readonly lines: Ends
  /** Of each array in JSON. */
  readonly items: Ends
  /** Of each object in JSON. */
  readonly keys: number
  /** Images, audio and other bytes of no more pass as they are. */
  readonly mediaBytes: number
  /** As many rows, lines, items and keys are shown as the threshold has room for; what is said of them is the least. */
  readonly fills?: boolean
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
  readonly least: number
  readonly most: number
}

/** The notice with its handle has to fit: below the least figures nothing of the text would be left. */
const NUMBERS: Readonly<Record<'threshold' | 'previewTokens' | 'keys' | 'mediaBytes', Bounds>> = {
  threshold: { least: 400, most: 1_000_000 },
  previewTokens: { least: 150, most: 1_000_000 },
  keys: { least: 1, most: 10_000 },
  mediaBytes: { least: 0, most: 100_000_000 },
}
const ENDS = ['rows', 'lines', 'items'] as const
const SHOWN: Bounds = { least: 0, most: 10_000 }
const KEYS: readonly string[] = [...Object.keys(NUMBERS), ...ENDS]

/** The named preset; a name that is none is an error which says what was probably meant. */
export function findPreset(name: string, presets: Presets = PRESETS): Preset {
  const preset = Object.hasOwn(presets, name) ? presets[name] : undefined
  if (preset !== undefined) return preset
  const names = Object.keys(presets)
  throw new SallyportError('USAGE', `There is no preset ${quoteText(name, 60)} for results.`, {
    hint: `${didYouMean(name, names).trimStart()} There are: ${names.join(', ')}.`.trimStart(),
  })
}

/** The built-in presets with those that people wrote, each of which says only what differs from the one it replaces. */
export function readPresets(written: JsonObject): Presets {
  const own = Object.entries(written).map(([name, fields]) => {
    if (!isJsonObject(fields)) throw flaw(name, `is ${shown(fields)}`, 'Expected settings such as { threshold: 5000 }.')
    return [name, readPreset(name, fields)] as const
  })
  return { ...PRESETS, ...Object.fromEntries(own) }
}

function readPreset(name: string, fields: JsonObject): Preset {
  const base = Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined
  const entries = Object.entries(fields).map(([key, value]) => {
    const known = camelCase(key)
    if (!KEYS.includes(known))
      throw flaw(name, `has an unknown key ${quoteText(key, 40)}`, `Known: ${KEYS.join(', ')}.${didYouMean(key, KEYS)}`)
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
  if (Object.hasOwn(NUMBERS, field.key)) return readNumber(field, NUMBERS[field.key as keyof typeof NUMBERS])
  const { name, key, value } = field
  if (!isJsonObject(value) || Object.keys(value).some((part) => part !== 'head' && part !== 'tail'))
    throw flaw(name, `has ${key}: ${shown(value)}`, 'Expected { head: 20, tail: 10 }.')
  return {
    head: readNumber({ name, key: `${key}.head`, value: value.head }, SHOWN),
    tail: readNumber({ name, key: `${key}.tail`, value: value.tail }, SHOWN),
  }
}

function readNumber({ name, key, value }: Field, { least, most }: Bounds): number {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= least && value <= most) return value
  throw flaw(name, `has ${key}: ${shown(value)}`, `Expected a whole number from ${least} to ${most}.`)
}

const flaw = (name: string, says: string, hint: string): SallyportError =>
  new SallyportError('USAGE', `The preset ${quoteText(name, 60)} ${says}.`, { hint })

const shown = (value: unknown): string =>
  value === undefined ? 'nothing' : quoteText(String(JSON.stringify(value)), 40)

const camelCase = (key: string): string => key.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
