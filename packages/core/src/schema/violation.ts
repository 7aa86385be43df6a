import { isJsonObject, type Json } from '../json/json.ts'
import { excerpt, quoteText } from '../text/excerpt.ts'
import { findClosest } from '../text/find-closest.ts'

export type ValuePath = readonly (string | number)[]

/** One problem of a value, and where it is. */
export interface Violation {
  readonly path: ValuePath
  /** What follows the path in a sentence: `must be an integer and is "ten"`. */
  readonly message: string
  /** It concerns a type or a constant that distinguishes alternatives, so another alternative was probably meant. */
  readonly isDiscriminator?: true
}

/** The maximum number of violations in one message: a model can fix these and then meet the next. */
export const MAX_VIOLATIONS = 5

const MAX_SHOWN_LENGTH = 24
const MAX_NAME_LENGTH = 40
const MAX_NAMES = 8
/** With more candidates, suggesting a similar key costs more than it helps. */
const MAX_CANDIDATES = 200
const MAX_CANDIDATE_LENGTH = 64

const PLAIN_KEY = /^[A-Za-z_$][\w$-]{0,39}$/
const SECRET_NAME = /pass|secret|token|key|auth|cred|cookie|session|pin\b|otp|signature/i
/** A run of letters mixed with digits, which secrets have and words do not. */
const KEY_LIKE = /(?=[\w+/=-]*\d)(?=[\w+/=-]*[A-Za-z])[\w+/=-]{9,}/

/** `filters[0].name`. Unusual keys come from the caller, so they are escaped and shortened. */
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

/** A value for an error message. Strings are shown only if they are short and cannot be a secret. */
function formatValue(value: Json | undefined, path: ValuePath): string {
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (isJsonObject(value)) return 'an object'
  if (typeof value === 'string') return formatString(value, path)
  if (typeof value === 'number' && isSecretPath(path)) return 'a number'
  return String(value)
}

function formatString(value: string, path: ValuePath): string {
  const isShown = value.length <= MAX_SHOWN_LENGTH && !isSecretPath(path) && !KEY_LIKE.test(value)
  return isShown ? quoteText(value, MAX_SHOWN_LENGTH) : `a string of ${value.length} characters`
}

const isSecretPath = (path: ValuePath): boolean =>
  path.some((part) => typeof part === 'string' && (part.length > MAX_CANDIDATE_LENGTH || SECRET_NAME.test(part)))

const ARTICLES: Readonly<Record<string, string>> = {
  array: 'an array',
  integer: 'an integer',
  object: 'an object',
  null: 'null',
}

/** Type names with an article: `an integer or a string`. */
export const formatTypes = (types: readonly string[]): string =>
  types.map((type) => ARTICLES[type] ?? `a ${type}`).join(' or ')

/** The allowed values: `one of "a", "b"`. */
export const formatOptions = (options: readonly Json[]): string =>
  options.length === 1 ? listOptions(options) : `one of ${listOptions(options)}`

/** The first options, and the number of all if there are more. */
function listOptions(options: readonly Json[]): string {
  const shown = options.slice(0, MAX_NAMES).map(formatOption)
  const rest = options.length > shown.length ? `, … (${options.length} in all)` : ''
  return `${shown.join(', ')}${rest}`
}

const formatOption = (option: Json): string =>
  typeof option === 'string' ? quoteText(option, MAX_NAME_LENGTH) : excerpt(JSON.stringify(option), MAX_NAME_LENGTH)

/** An unknown key: suggests a similar key, or lists the known ones. */
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

/** All violations as one sentence, for whoever has to fix the value. */
export function formatViolations(violations: readonly Violation[]): string {
  const shown = violations.slice(0, MAX_VIOLATIONS).map(({ path, message }) => `${formatPath(path)} ${message}`)
  return [...shown, ...(violations.length > shown.length ? ['and more'] : [])].join('; ')
}
