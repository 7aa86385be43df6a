import { closest } from './closest.ts'
import { excerpt, quoteText } from './excerpt.ts'
import { isJsonObject, type Json } from './json/json.ts'

export type ValuePath = readonly (string | number)[]

/** One thing that is wrong with a value, and where in it. */
export interface Violation {
  readonly path: ValuePath
  /** What follows the path in a sentence: `must be an integer and is "ten"`. */
  readonly says: string
  /** It is a type or a constant, by which alternatives are told apart: who breaks it most likely meant another one. */
  readonly isMark?: true
}

/** What is told of one value; a model that mends five faults and meets a sixth is still served well. */
export const MOST_VIOLATIONS = 5

const LONGEST_SHOWN = 24
const LONGEST_NAME = 40
const MOST_NAMES = 8
/** Beyond these, looking for what was meant costs more than it helps. */
const MOST_CANDIDATES = 200
const LONGEST_CANDIDATE = 64

const PLAIN_KEY = /^[A-Za-z_$][\w$-]{0,39}$/
const SECRET_NAME = /pass|secret|token|key|auth|cred|cookie|session|pin\b|otp|signature/i
/** A run that mixes letters and digits, as keys do and words do not. */
const KEY_LIKE = /(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Za-z])[\w+/=-]{9,}/

/** `filters[0].name`, with whatever a caller may have used as a key made visible and cut. */
function pathText(path: ValuePath): string {
  if (path.length === 0) return 'the whole'
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    if (!PLAIN_KEY.test(part)) return `${text}[${quoteText(part, LONGEST_NAME)}]`
    return text === '' ? part : `${text}.${part}`
  }, '')
}

export const saysMismatch = (expected: string, value: Json | undefined, path: ValuePath): string =>
  `must be ${expected} and is ${shownValue(value, path)}`

/** A value as an error may tell it. Texts are shown only where they are short and cannot be a secret. */
function shownValue(value: Json | undefined, path: ValuePath): string {
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (isJsonObject(value)) return 'an object'
  if (typeof value === 'string') return shownString(value, path)
  if (typeof value === 'number' && isSecretPlace(path)) return 'a number'
  return String(value)
}

function shownString(value: string, path: ValuePath): string {
  const isTold = value.length <= LONGEST_SHOWN && !isSecretPlace(path) && !KEY_LIKE.test(value)
  return isTold ? quoteText(value, LONGEST_SHOWN) : `a string of ${value.length} characters`
}

const isSecretPlace = (path: ValuePath): boolean =>
  path.some((part) => typeof part === 'string' && (part.length > LONGEST_CANDIDATE || SECRET_NAME.test(part)))

const ARTICLES: Readonly<Record<string, string>> = {
  array: 'an array',
  integer: 'an integer',
  object: 'an object',
  null: 'null',
}

/** The type names of the specification, told as words. */
export const typeWords = (types: readonly string[]): string =>
  types.map((type) => ARTICLES[type] ?? `a ${type}`).join(' or ')

/** What may be chosen from, told as words. */
export const optionWords = (options: readonly Json[]): string =>
  options.length === 1 ? shownOptions(options) : `one of ${shownOptions(options)}`

/** What a schema allows, as its author wrote it. */
function shownOptions(options: readonly Json[]): string {
  const shown = options.slice(0, MOST_NAMES).map(shownOption)
  const rest = options.length > shown.length ? `, … (${options.length} in all)` : ''
  return `${shown.join(', ')}${rest}`
}

const shownOption = (option: Json): string =>
  typeof option === 'string' ? quoteText(option, LONGEST_NAME) : excerpt(JSON.stringify(option), LONGEST_NAME)

/** A key that the schema does not know: the one that was meant, or those that there are. */
export function unknownKey(path: ValuePath, known: readonly string[]): Violation {
  const meant = meantBy(String(path.at(-1)), known)
  if (meant !== undefined) return { path, says: `is not known there (did you mean ${shownOption(meant)}?)` }
  return {
    path,
    says: known.length === 0 ? 'is not known there' : `is not known there (known: ${shownOptions(known)})`,
  }
}

function meantBy(key: string, known: readonly string[]): string | undefined {
  if (key.length > LONGEST_CANDIDATE) return undefined
  return closest(
    key,
    known.slice(0, MOST_CANDIDATES).filter((name) => name.length <= LONGEST_CANDIDATE),
  )
}

/** All of it as one sentence, for whoever has to mend the value. */
export function violationsText(violations: readonly Violation[]): string {
  const told = violations.slice(0, MOST_VIOLATIONS).map(({ path, says }) => `${pathText(path)} ${says}`)
  return [...told, ...(violations.length > told.length ? ['and more'] : [])].join('; ')
}
