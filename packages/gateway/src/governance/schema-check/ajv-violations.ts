import {
  formatMismatch,
  formatOptions,
  formatTypes,
  isJsonList,
  isJsonObject,
  type Json,
  quoteText,
  unknownKeyViolation,
  type ValuePath,
  type Violation,
} from '@sallyport/core'
import type { ErrorObject } from 'ajv'

const MAX_PATTERN_LENGTH = 120

/** What the others beside them are about. */
const SUMMARY_KEYWORDS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'if'])

/** What AJV found, in the words of our own validator. */
export function toViolations(errors: readonly ErrorObject[]): readonly Violation[] {
  const summaries = errors.filter(({ keyword }) => SUMMARY_KEYWORDS.has(keyword))
  const others = errors.filter(({ keyword }) => !SUMMARY_KEYWORDS.has(keyword))
  return [...summaries, ...others].map(toViolation)
}

function toViolation(error: ErrorObject): Violation {
  const path = parsePointer(error.instancePath)
  const { missingProperty, additionalProperty, unevaluatedProperty, propertyName } = error.params as Params
  if (missingProperty !== undefined) return { path: [...path, missingProperty], message: 'is missing' }
  if (additionalProperty !== undefined)
    return unknownKeyViolation([...path, additionalProperty], knownKeys(error.parentSchema))
  if (unevaluatedProperty !== undefined)
    return unknownKeyViolation([...path, unevaluatedProperty], knownKeys(error.parentSchema))
  if (propertyName !== undefined)
    return { path: [...path, propertyName], message: 'is not a name that is allowed there' }
  return { path, message: (WORDS[error.keyword] ?? otherWords)(error, path) }
}

interface Params {
  readonly missingProperty?: string
  readonly additionalProperty?: string
  readonly unevaluatedProperty?: string
  readonly propertyName?: string
}

type Wording = (error: ErrorObject, path: ValuePath) => string

const mismatch =
  (expected: (operand: Json) => string): Wording =>
  ({ schema, data }, path) =>
    formatMismatch(expected(schema as Json), data as Json, path)

const size =
  (words: string): Wording =>
  ({ schema }) =>
    `must have ${words.replace('#', String(schema))}`

const WORDS: Readonly<Record<string, Wording>> = {
  type: mismatch((types) => formatTypes((isJsonList(types) ? types : [types]).map(String))),
  const: mismatch((option) => formatOptions([option])),
  enum: mismatch((options) => formatOptions(isJsonList(options) ? options : [])),
  minimum: mismatch((limit) => `at least ${limit}`),
  maximum: mismatch((limit) => `at most ${limit}`),
  exclusiveMinimum: mismatch((limit) => `more than ${limit}`),
  exclusiveMaximum: mismatch((limit) => `less than ${limit}`),
  multipleOf: mismatch((step) => `a multiple of ${step}`),
  minLength: size('at least # characters'),
  maxLength: size('at most # characters'),
  minItems: size('at least # items'),
  maxItems: size('at most # items'),
  minProperties: size('at least # members'),
  maxProperties: size('at most # members'),
  pattern: ({ schema }) => `must match the pattern ${quoteText(String(schema), MAX_PATTERN_LENGTH)}`,
  uniqueItems: () => 'must not hold the same item twice',
  'false schema': () => 'is not allowed',
  anyOf: ({ schema }) =>
    `fits none of its ${isJsonList(schema as Json) ? (schema as readonly Json[]).length : ''} alternatives`,
  oneOf: ({ params }) =>
    params.passingSchemas
      ? 'must fit exactly one of its alternatives and fits several'
      : 'fits none of its alternatives',
}

const otherWords: Wording = ({ keyword }) => `breaks the rule ${quoteText(keyword, 40)} of the schema`

/** A JSON pointer. It does not say whether a number is a place in a list or a key. */
function parsePointer(pointer: string): ValuePath {
  const parts = pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
  return parts.map((part) => (/^\d{1,9}$/.test(part) ? Number(part) : part))
}

function knownKeys(schema: unknown): readonly string[] {
  const properties = isJsonObject(schema) ? schema.properties : undefined
  return isJsonObject(properties) ? Object.keys(properties) : []
}
