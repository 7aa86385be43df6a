import {
  formatMismatch,
  formatOptions,
  formatTypes,
  isJsonList,
  isJsonObject,
  isMultipleOf,
  type Json,
  type JsonObject,
  messageOf,
  quoteText,
  unknownKeyViolation,
  type ValuePath,
  type Violation,
} from '@sallyport/core'
import { Ajv, type AnySchemaObject, type ErrorObject, type Options } from 'ajv'
import { Ajv2019 } from 'ajv/dist/2019.js'
import { Ajv2020 } from 'ajv/dist/2020.js'

/** The violations of a value; `undefined` if it fits. */
export type FullCheck = (value: unknown) => readonly Violation[] | undefined

const DIALECTS = { 'draft-07': Ajv, '2019-09': Ajv2019, '2020-12': Ajv2020 } as const
type Dialect = keyof typeof DIALECTS

const OPTIONS: Options = {
  // Unknown keywords and formats are annotations: JSON Schema 2020-12, 4.3.1 and 7.2.1.
  strict: false,
  validateFormats: false,
  allErrors: true,
  verbose: true,
  messages: false,
  logger: false,
  // Otherwise every object would have a property `constructor`.
  ownProperties: true,
  inlineRefs: false,
  code: { regExp: Object.assign(toRegExp, { code: 'new RegExp' }) },
}

const metaValidators = new Map<Dialect, Ajv>()

/** Compiles any schema, or throws. It may never return, so use it only in a thread that can be terminated. */
export function compileSchema(schema: Json): FullCheck {
  if (!isJsonObject(schema)) throw new Error('it is not an object')
  const [dialect, ...others] = detectDialects(schema.$schema)
  if (dialect === undefined) throw new Error('its $schema is not a supported dialect')
  try {
    return compileAs(dialect, schema)
  } catch (error) {
    for (const other of others) {
      try {
        return compileAs(other, schema)
      } catch {}
    }
    throw error
  }
}

/** A compiled schema, or the part of it that can be compiled. */
export interface CompiledSchema {
  readonly check?: FullCheck
  /** Why the schema could not be compiled completely. */
  readonly problem?: string
}

/** The maximum number of attempts to leave out a part that cannot be compiled. */
const MAX_DROPPED = 20

/** Compiles a schema. If that fails, it compiles the schema without the parts that cannot be compiled. */
export function compilePartially(schema: Json): CompiledSchema {
  try {
    return { check: compileSchema(schema) }
  } catch (error) {
    const problem = messageOf(error)
    return isJsonObject(schema) ? { ...compileUsablePart(schema), problem } : { problem }
  }
}

function compileUsablePart(schema: JsonObject): CompiledSchema {
  const dialect = detectDialects(schema.$schema)[0] ?? '2020-12'
  const dropped = new Set<string>()
  let visited: string[] = []
  const resolves = createRefCheck(schema)
  const isUsable: IsUsable = (keyword, value, path) => {
    const pointer = `/${path.join('/')}`
    visited.push(pointer)
    if (keyword === '$schema' || (UNRELIABLE_KEYWORDS as readonly string[]).includes(keyword) || dropped.has(pointer))
      return false
    if (keyword === 'pattern') return isPattern(value)
    if (keyword === 'patternProperties') return isJsonObject(value) && Object.keys(value).every(isPattern)
    return keyword !== '$ref' || resolves(value)
  }
  for (let attempts = 0; attempts < MAX_DROPPED; attempts++) {
    visited = []
    const part = dropUnusableParts(schema, isUsable)
    const metaValidator = metaValidatorFor(dialect)
    try {
      if (metaValidator.validateSchema(part) === true) return { check: compileAs(dialect, part) }
    } catch {
      return {}
    }
    const invalid = findKeyword(metaValidator.errors?.[0]?.instancePath ?? '', visited)
    if (invalid === undefined) return {}
    dropped.add(invalid)
  }
  return {}
}

/** The innermost keyword that contains the error. Anything deeper is its value. */
function findKeyword(pointer: string, keywords: readonly string[]): string | undefined {
  const path = `${pointer.replaceAll('~1', '/').replaceAll('~0', '~')}/`
  const containing = keywords.filter((keyword) => path.startsWith(`${keyword}/`))
  return containing.sort((a, b) => b.length - a.length)[0]
}

function isPattern(value: Json): boolean {
  try {
    toRegExp(String(value), 'u')
    return true
  } catch {
    return false
  }
}

/** Accepts only references to other parts of the same schema, as a plain JSON pointer. */
function createRefCheck(schema: JsonObject): (value: Json) => boolean {
  return (value) => {
    if (typeof value !== 'string' || !value.startsWith('#')) return false
    if (value === '#') return true
    let at: Json | undefined = schema
    for (const step of value.slice(2).split('/')) {
      const name = decodeStep(step)
      at = isJsonObject(at) ? at[name] : Array.isArray(at) ? at[Number(name)] : undefined
    }
    return value.startsWith('#/') && (isJsonObject(at) || typeof at === 'boolean')
  }
}

function decodeStep(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return step
  }
}

/** Without `$schema` the dialect is the newest one, but many authors mean draft-07, which was common for years. */
function detectDialects($schema: Json | undefined): readonly Dialect[] {
  if ($schema === undefined) return ['2020-12', 'draft-07']
  const [, name] =
    /^https?:\/\/json-schema\.org\/(draft-0[4-7]|draft\/2019-09|draft\/2020-12)\/schema#?$/.exec(String($schema)) ?? []
  if (name === undefined) return []
  if (name === 'draft/2020-12') return ['2020-12']
  return name === 'draft/2019-09' ? ['2019-09'] : ['draft-07']
}

function compileAs(dialect: Dialect, schema: AnySchemaObject): FullCheck {
  const metaValidator = metaValidatorFor(dialect)
  if (metaValidator.validateSchema(schema) !== true) throw new Error(describeSchemaError(metaValidator))
  // Each schema has its own instance, so that its `$id` names cannot refer to the schema of another server.
  const ajv = patchKeywords(new DIALECTS[dialect]({ ...OPTIONS, meta: false, validateSchema: false }))
  const validate = ajv.compile(schema)
  return (value) => (validate(value) ? undefined : toViolations(validate.errors ?? []))
}

function metaValidatorFor(dialect: Dialect): Ajv {
  const metaValidator =
    metaValidators.get(dialect) ?? new DIALECTS[dialect]({ ...OPTIONS, allErrors: false, addUsedSchema: false })
  metaValidators.set(dialect, metaValidator)
  return metaValidator
}

function describeSchemaError({ errors }: Ajv): string {
  const [first] = errors ?? []
  return `${first?.instancePath || 'the whole'} breaks the rule ${first?.keyword ?? 'of its dialect'}`
}

/** AJV fails some cases of the official test suite for these keywords, so it must not refuse values because of them. */
const UNRELIABLE_KEYWORDS = ['$dynamicRef', '$recursiveRef', 'unevaluatedItems'] as const

/** Makes decimal steps of `multipleOf` exact, and ignores `id`, which is not a keyword any more. */
function patchKeywords(ajv: Ajv): Ajv {
  for (const keyword of ['id', 'multipleOf', ...UNRELIABLE_KEYWORDS]) ajv.removeKeyword(keyword)
  for (const keyword of UNRELIABLE_KEYWORDS) ajv.addKeyword({ keyword, compile: () => refuse(keyword) })
  return ajv.addKeyword({
    keyword: 'multipleOf',
    type: 'number',
    schemaType: 'number',
    validate: (step: number, value: number) => isMultipleOf(value, step),
  })
}

function refuse(keyword: string): never {
  throw new Error(`${keyword} is not supported`)
}

/** By the specification, patterns use Unicode mode, but many real patterns are valid only without it. */
function toRegExp(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, flags)
  } catch {
    return new RegExp(pattern)
  }
}

/** Whether a keyword at this path of a schema can be used. */
type IsUsable = (keyword: string, value: Json, path: readonly string[]) => boolean

const SUBSCHEMA_KEYWORDS = [
  'additionalProperties',
  'items',
  'additionalItems',
  'propertyNames',
  'then',
  'else',
  'contentSchema',
]
const SUBSCHEMA_LIST_KEYWORDS = ['allOf', 'anyOf', 'prefixItems']
const SUBSCHEMA_MAP_KEYWORDS = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions']
/** If a part inside these is left out, they could refuse more. */
const INVERTING_KEYWORDS = ['not', 'oneOf', 'if', 'contains', 'dependencies']
/** The meaning of these depends on keywords beside them. */
const SIBLING_KEYWORDS = [
  'unevaluatedProperties',
  'unevaluatedItems',
  'additionalProperties',
  'additionalItems',
  'items',
]
const DEFINITION_KEYWORDS = ['$defs', 'definitions']

/**
 * Removes the parts of a schema that cannot be used, so that the other parts can still be checked. Whatever the removed
 * parts mean, the result refuses nothing that the complete schema would accept.
 */
function dropUnusableParts(schema: JsonObject, isUsable: IsUsable): JsonObject {
  const first = new SchemaWeakener(isUsable)
  const weaker = first.weaken(schema, [])
  if (!first.isShared) return weaker
  // A definition can be referenced from anywhere, also from an inverting keyword, so these are removed too.
  return new SchemaWeakener(
    (keyword, value, path) => !INVERTING_KEYWORDS.includes(keyword) && isUsable(keyword, value, path),
  ).weaken(schema, [])
}

class SchemaWeakener {
  readonly #isUsable: IsUsable
  #changes = 0
  isShared = false

  constructor(isUsable: IsUsable) {
    this.#isUsable = isUsable
  }

  weaken(schema: JsonObject, path: readonly string[]): JsonObject {
    const before = this.#changes
    const result: Record<string, Json> = {}
    const dropped = new Set<string>()
    for (const [keyword, value] of Object.entries(schema)) {
      const part = this.#weakenKeyword(keyword, value as Json, [...path, keyword])
      if (part === undefined) dropped.add(keyword)
      else result[keyword] = part
    }
    if (this.#changes > before || dropped.size > 0) this.#loosen(result, dropped)
    return result
  }

  #loosen(result: Record<string, Json>, dropped: ReadonlySet<string>): void {
    const names = ['properties', 'patternProperties', 'prefixItems', 'items']
    for (const keyword of SIBLING_KEYWORDS)
      if (keyword.startsWith('unevaluated') || names.some((name) => dropped.has(name))) delete result[keyword]
    if (!dropped.has('if')) return
    delete result.then
    delete result.else
  }

  #weakenKeyword(keyword: string, value: Json, path: readonly string[]): Json | undefined {
    if (!this.#isUsable(keyword, value, path)) return this.#drop(path)
    const before = this.#changes
    const part = this.#weakenValue(keyword, value, path)
    return INVERTING_KEYWORDS.includes(keyword) && this.#changes > before ? undefined : part
  }

  #weakenValue(keyword: string, value: Json, path: readonly string[]): Json {
    const inner = (one: Json, at: readonly string[]): Json => (isJsonObject(one) ? this.weaken(one, at) : one)
    if (Array.isArray(value))
      return [...SUBSCHEMA_LIST_KEYWORDS, ...INVERTING_KEYWORDS, 'items'].includes(keyword)
        ? value.map((one, at) => inner(one, [...path, String(at)]))
        : value
    if (!isJsonObject(value)) return value
    if (SUBSCHEMA_MAP_KEYWORDS.includes(keyword) || keyword === 'dependencies')
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one as Json, [...path, name])]))
    return [...SUBSCHEMA_KEYWORDS, ...INVERTING_KEYWORDS, 'unevaluatedProperties', 'unevaluatedItems'].includes(keyword)
      ? this.weaken(value, path)
      : value
  }

  #drop(path: readonly string[]): undefined {
    this.#changes++
    if (path.some((step) => DEFINITION_KEYWORDS.includes(step))) this.isShared = true
    return undefined
  }
}

const MAX_PATTERN_LENGTH = 120

/** Errors that summarize the other errors beside them. */
const SUMMARY_KEYWORDS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'if'])

/** Converts the errors of AJV into the messages of our own validator. */
function toViolations(errors: readonly ErrorObject[]): readonly Violation[] {
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
  if (propertyName !== undefined) return { path: [...path, propertyName], message: 'is not an allowed name there' }
  return { path, message: (MESSAGES[error.keyword] ?? defaultMessage)(error, path) }
}

interface Params {
  readonly missingProperty?: string
  readonly additionalProperty?: string
  readonly unevaluatedProperty?: string
  readonly propertyName?: string
}

type FormatMessage = (error: ErrorObject, path: ValuePath) => string

const mismatch =
  (expected: (operand: Json) => string): FormatMessage =>
  ({ schema, data }, path) =>
    formatMismatch(expected(schema as Json), data as Json, path)

const size =
  (template: string): FormatMessage =>
  ({ schema }) =>
    `must have ${template.replace('#', String(schema))}`

const MESSAGES: Readonly<Record<string, FormatMessage>> = {
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

const defaultMessage: FormatMessage = ({ keyword }) => `breaks the rule ${quoteText(keyword, 40)} of the schema`

/** Parses a JSON pointer. A number in it may be an index or a key, which the pointer does not show. */
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
