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

/** What is wrong with a value; nothing where it fits. */
export type FullCheck = (value: unknown) => readonly Violation[] | undefined

const DIALECTS = { 'draft-07': Ajv, '2019-09': Ajv2019, '2020-12': Ajv2020 } as const
type Dialect = keyof typeof DIALECTS

const OPTIONS: Options = {
  // Words that nobody knows are annotations, and formats are too: JSON Schema 2020-12, 4.3.1 and 7.2.1.
  strict: false,
  validateFormats: false,
  allErrors: true,
  verbose: true,
  messages: false,
  logger: false,
  // Else every object would have a `constructor`.
  ownProperties: true,
  inlineRefs: false,
  code: { regExp: Object.assign(toRegExp, { code: 'new RegExp' }) },
}

const metaValidators = new Map<Dialect, Ajv>()

/** Compiles any schema. It may take for ever, and throws what cannot be compiled: only for a thread that can be ended. */
export function compileSchema(schema: Json): FullCheck {
  if (!isJsonObject(schema)) throw new Error('it is not an object')
  const [dialect, ...others] = detectDialects(schema.$schema)
  if (dialect === undefined) throw new Error('its $schema names a dialect that is not known here')
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

/** A schema, or as much of it as can be checked. */
export interface CompiledSchema {
  readonly check?: FullCheck
  /** Why it could not be compiled as it is. */
  readonly problem?: string
}

/** So often a part that cannot be compiled is left out. */
const MAX_DROPPED = 20

/** Compiles a schema; where that fails, what is left of it without the parts that cannot be compiled. */
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
  const lost = new Set<string>()
  let met: string[] = []
  const resolves = createRefCheck(schema)
  const isUsable: IsUsable = (keyword, value, way) => {
    const place = `/${way.join('/')}`
    met.push(place)
    if (keyword === '$schema' || (UNRELIABLE_KEYWORDS as readonly string[]).includes(keyword) || lost.has(place))
      return false
    if (keyword === 'pattern') return isPattern(value)
    if (keyword === 'patternProperties') return isJsonObject(value) && Object.keys(value).every(isPattern)
    return keyword !== '$ref' || resolves(value)
  }
  for (let losses = 0; losses < MAX_DROPPED; losses++) {
    met = []
    const part = dropUnusableParts(schema, isUsable)
    const judge = metaValidatorFor(dialect)
    try {
      if (judge.validateSchema(part) === true) return { check: compileAs(dialect, part) }
    } catch {
      return {}
    }
    const flawed = findKeyword(judge.errors?.[0]?.instancePath ?? '', met)
    if (flawed === undefined) return {}
    lost.add(flawed)
  }
  return {}
}

/** The innermost keyword that a flaw is in: what is deeper is its value. */
function findKeyword(pointer: string, keywords: readonly string[]): string | undefined {
  const place = `${pointer.replaceAll('~1', '/').replaceAll('~0', '~')}/`
  const around = keywords.filter((keyword) => place.startsWith(`${keyword}/`))
  return around.sort((a, b) => b.length - a.length)[0]
}

function isPattern(value: Json): boolean {
  try {
    toRegExp(String(value), 'u')
    return true
  } catch {
    return false
  }
}

/** References within the schema, by a plain pointer: all others are left to whoever wrote them. */
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

/** Without a word it is the newest one, but many who say nothing mean the one that was common for years. */
function detectDialects($schema: Json | undefined): readonly Dialect[] {
  if ($schema === undefined) return ['2020-12', 'draft-07']
  const [, name] =
    /^https?:\/\/json-schema\.org\/(draft-0[4-7]|draft\/2019-09|draft\/2020-12)\/schema#?$/.exec(String($schema)) ?? []
  if (name === undefined) return []
  if (name === 'draft/2020-12') return ['2020-12']
  return name === 'draft/2019-09' ? ['2019-09'] : ['draft-07']
}

function compileAs(dialect: Dialect, schema: AnySchemaObject): FullCheck {
  const judge = metaValidatorFor(dialect)
  if (judge.validateSchema(schema) !== true) throw new Error(describeSchemaError(judge))
  // Names that a schema gives to its parts stay with its instance: none may lead into the schema of another server.
  const ajv = patchKeywords(new DIALECTS[dialect]({ ...OPTIONS, meta: false, validateSchema: false }))
  const validate = ajv.compile(schema)
  return (value) => (validate(value) ? undefined : toViolations(validate.errors ?? []))
}

function metaValidatorFor(dialect: Dialect): Ajv {
  const judge =
    metaValidators.get(dialect) ?? new DIALECTS[dialect]({ ...OPTIONS, allErrors: false, addUsedSchema: false })
  metaValidators.set(dialect, judge)
  return judge
}

function describeSchemaError({ errors }: Ajv): string {
  const [first] = errors ?? []
  return `${first?.instancePath || 'the whole'} breaks the rule ${first?.keyword ?? 'of its dialect'}`
}

/** Keywords that AJV judges wrongly in some cases of the official test suite: it must refuse nobody for them. */
const UNRELIABLE_KEYWORDS = ['$dynamicRef', '$recursiveRef', 'unevaluatedItems'] as const

/** Reads what is written as it is meant: decimal steps are exact, and `id` is no word of today. */
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
  throw new Error(`${keyword} is not understood here`)
}

/** Patterns are Unicode ones by the specification; many in use are valid only without. */
function toRegExp(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, flags)
  } catch {
    return new RegExp(pattern)
  }
}

/** Whether a keyword of a schema, at this way into it, can be used. */
type IsUsable = (keyword: string, value: Json, way: readonly string[]) => boolean

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
/** With less in them they could refuse more. */
const INVERTING_KEYWORDS = ['not', 'oneOf', 'if', 'contains', 'dependencies']
/** These look at what was said beside them. */
const SIBLING_KEYWORDS = [
  'unevaluatedProperties',
  'unevaluatedItems',
  'additionalProperties',
  'additionalItems',
  'items',
]
const DEFINITION_KEYWORDS = ['$defs', 'definitions']

/**
 * What is left of a schema without the parts that cannot be used. It refuses nothing that the whole would accept,
 * whatever those parts mean: one part that nobody understands is no reason not to check the others.
 */
function dropUnusableParts(schema: JsonObject, isUsable: IsUsable): JsonObject {
  const first = new SchemaWeakener(isUsable)
  const weaker = first.weaken(schema, [])
  if (!first.isShared) return weaker
  // What is referred to may be referred to from anywhere, also from where less is more.
  return new SchemaWeakener(
    (keyword, value, way) => !INVERTING_KEYWORDS.includes(keyword) && isUsable(keyword, value, way),
  ).weaken(schema, [])
}

class SchemaWeakener {
  readonly #isUsable: IsUsable
  #changes = 0
  isShared = false

  constructor(isUsable: IsUsable) {
    this.#isUsable = isUsable
  }

  weaken(schema: JsonObject, way: readonly string[]): JsonObject {
    const before = this.#changes
    const kept: Record<string, Json> = {}
    const lost = new Set<string>()
    for (const [keyword, value] of Object.entries(schema)) {
      const part = this.#weakenKeyword(keyword, value as Json, [...way, keyword])
      if (part === undefined) lost.add(keyword)
      else kept[keyword] = part
    }
    if (this.#changes > before || lost.size > 0) this.#loosen(kept, lost)
    return kept
  }

  #loosen(kept: Record<string, Json>, lost: ReadonlySet<string>): void {
    const names = ['properties', 'patternProperties', 'prefixItems', 'items']
    for (const keyword of SIBLING_KEYWORDS)
      if (keyword.startsWith('unevaluated') || names.some((name) => lost.has(name))) delete kept[keyword]
    if (!lost.has('if')) return
    delete kept.then
    delete kept.else
  }

  #weakenKeyword(keyword: string, value: Json, way: readonly string[]): Json | undefined {
    if (!this.#isUsable(keyword, value, way)) return this.#drop(way)
    const before = this.#changes
    const part = this.#weakenValue(keyword, value, way)
    return INVERTING_KEYWORDS.includes(keyword) && this.#changes > before ? undefined : part
  }

  #weakenValue(keyword: string, value: Json, way: readonly string[]): Json {
    const inner = (one: Json, at: readonly string[]): Json => (isJsonObject(one) ? this.weaken(one, at) : one)
    if (Array.isArray(value))
      return [...SUBSCHEMA_LIST_KEYWORDS, ...INVERTING_KEYWORDS, 'items'].includes(keyword)
        ? value.map((one, at) => inner(one, [...way, String(at)]))
        : value
    if (!isJsonObject(value)) return value
    if (SUBSCHEMA_MAP_KEYWORDS.includes(keyword) || keyword === 'dependencies')
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one as Json, [...way, name])]))
    return [...SUBSCHEMA_KEYWORDS, ...INVERTING_KEYWORDS, 'unevaluatedProperties', 'unevaluatedItems'].includes(keyword)
      ? this.weaken(value, way)
      : value
  }

  #drop(way: readonly string[]): undefined {
    this.#changes++
    if (way.some((step) => DEFINITION_KEYWORDS.includes(step))) this.isShared = true
    return undefined
  }
}

const MAX_PATTERN_LENGTH = 120

/** What the others beside them are about. */
const SUMMARY_KEYWORDS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'if'])

/** What AJV found, in the words of our own validator. */
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
