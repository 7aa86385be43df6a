import { isJsonObject, type Json } from '../json/json.ts'
import { excerpt, quoteText } from '../text/excerpt.ts'
import { findClosest } from '../text/find-closest.ts'

export type ValuePath = readonly (string | number)[]

/** One thing that is wrong with a value, and where in it. */
export interface Violation {
  readonly path: ValuePath
  /** What follows the path in a sentence: `must be an integer and is "ten"`. */
  readonly message: string
  /** It is a type or a constant, by which alternatives are told apart: who breaks it most likely meant another one. */
  readonly isDiscriminator?: true
}

/** What is told of one value; a model that mends five faults and meets a sixth is still served well. */
export const MAX_VIOLATIONS = 5

const MAX_SHOWN_LENGTH = 24
const MAX_NAME_LENGTH = 40
const MAX_NAMES = 8
/** Beyond these, looking for what was meant costs more than it helps. */
const MAX_CANDIDATES = 200
const MAX_CANDIDATE_LENGTH = 64

const PLAIN_KEY = /^[A-Za-z_$][\w$-]{0,39}$/
const SECRET_NAME = /pass|secret|token|key|auth|cred|cookie|session|pin\b|otp|signature/i
/** A run that mixes letters and digits, as keys do and words do not. */
const KEY_LIKE = /(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Za-z])[\w+/=-]{9,}/

/** `filters[0].name`, with whatever a caller may have used as a key made visible and cut. */
function formatPath(path: ValuePath): string {
  if (path.length === 0) return 'the whole'
  return path.reduce<string>((text, part) => {
    if (typeof part === 'number') return `${text}[${part}]`
    if (!PLAIN_KEY.test(part)) return `${text}[${quoteText(part, MAX_NAME_LENGTH)}]`
    return text === '' ? part : `${text}.${part}`
  }, '')
}

export const formatMismatch = (expected: string, value: Json | undefined, path: ValuePath): string =>
  `must be ${expected} and is ${formatValue(value, path)}`

/** A value as an error may tell it. Texts are shown only where they are short and cannot be a secret. */
function formatValue(value: Json | undefined, path: ValuePath): string {
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (isJsonObject(value)) return 'an object'
  if (typeof value === 'string') return formatString(value, path)
  if (typeof value === 'number' && isSecretPath(path)) return 'a number'
  return String(value)
}

function formatString(value: string, path: ValuePath): string {
  const isTold = value.length <= MAX_SHOWN_LENGTH && !isSecretPath(path) && !KEY_LIKE.test(value)
  return isTold ? quoteText(value, MAX_SHOWN_LENGTH) : `a string of ${value.length} characters`
}

const isSecretPath = (path: ValuePath): boolean =>
  path.some((part) => typeof part === 'string' && (part.length > MAX_CANDIDATE_LENGTH || SECRET_NAME.test(part)))

const ARTICLES: Readonly<Record<string, string>> = {
  array: 'an array',
  integer: 'an integer',
  object: 'an object',
  null: 'null',
}

/** The type names of the specification, told as words. */
export const formatTypes = (types: readonly string[]): string =>
  types.map((type) => ARTICLES[type] ?? `a ${type}`).join(' or ')

/** What may be chosen from, told as words. */
export const formatOptions = (options: readonly Json[]): string =>
  options.length === 1 ? listOptions(options) : `one of ${listOptions(options)}`

/** What a schema allows, as its author wrote it. */
function listOptions(options: readonly Json[]): string {
  const shown = options.slice(0, MAX_NAMES).map(formatOption)
  const rest = options.length > shown.length ? `, … (${options.length} in all)` : ''
  return `${shown.join(', ')}${rest}`
}

const formatOption = (option: Json): string =>
  typeof option === 'string' ? quoteText(option, MAX_NAME_LENGTH) : excerpt(JSON.stringify(option), MAX_NAME_LENGTH)

/** A key that the schema does not know: the one that was meant, or those that there are. */
export function unknownKeyViolation(path: ValuePath, known: readonly string[]): Violation {
  const meant = findMeantKey(String(path.at(-1)), known)
  if (meant !== undefined) return { path, message: `is not known there (did you mean ${formatOption(meant)}?)` }
  return {
    path,
    message: known.length === 0 ? 'is not known there' : `is not known there (known: ${listOptions(known)})`,
  }
}

function findMeantKey(key: string, known: readonly string[]): string | undefined {
  if (key.length > MAX_CANDIDATE_LENGTH) return undefined
  return findClosest(
    key,
    known.slice(0, MAX_CANDIDATES).filter((name) => name.length <= MAX_CANDIDATE_LENGTH),
  )
}

/** All of it as one sentence, for whoever has to mend the value. */
export function formatViolations(violations: readonly Violation[]): string {
  const told = violations.slice(0, MAX_VIOLATIONS).map(({ path, message }) => `${formatPath(path)} ${message}`)
  return [...told, ...(violations.length > told.length ? ['and more'] : [])].join('; ')
}
