import { ERRORS } from '../errors.ts'
import { LOG_LEVELS } from '../protocol.ts'
import { isJsonObject, type Json, type JsonObject } from './json-value.ts'

/** Takes a value: the same where it is allowed, a repaired one where parts of it are not, else undefined. */
type FieldSanitizer = (value: Json) => Json | undefined

const acceptIf =
  (isAllowed: (value: Json) => boolean): FieldSanitizer =>
  (value) =>
    isAllowed(value) ? value : undefined

const aString: FieldSanitizer = acceptIf((value) => typeof value === 'string')
const aBoolean: FieldSanitizer = acceptIf((value) => typeof value === 'boolean')
/** Readers make Infinity of a number that is too large. */
const aNumber: FieldSanitizer = acceptIf(Number.isFinite)
const anInteger: FieldSanitizer = acceptIf(Number.isSafeInteger)
const anObject: FieldSanitizer = acceptIf(isJsonObject)

const oneOf = (...words: readonly Json[]): FieldSanitizer => acceptIf((value) => words.includes(value))

const between = (min: number, max: number): FieldSanitizer =>
  acceptIf((value) => typeof value === 'number' && value >= min && value <= max)

/** A list without the items that are not allowed. */
function listOf(check: FieldSanitizer, max: number = Number.POSITIVE_INFINITY): FieldSanitizer {
  return (value) => {
    if (!Array.isArray(value)) return undefined
    const items = value.flatMap((item: Json) => check(item) ?? []).slice(0, max)
    const isSame = items.length === value.length && items.every((item, at) => item === value[at])
    return isSame ? value : items
  }
}

interface ObjectFields {
  readonly [name: string]: FieldSanitizer
}

/** An object without the fields that are not allowed, or nothing where a required one is among them. Others pass. */
function objectOf(fields: ObjectFields, required: readonly string[] = []): FieldSanitizer {
  const checks = Object.entries(fields)
  return (value) => {
    if (!isJsonObject(value)) return undefined
    let repaired: Record<string, Json | undefined> | undefined
    for (const [name, check] of checks) {
      const had = Object.hasOwn(value, name) ? value[name] : undefined
      if (had === undefined) continue
      const has = check(had)
      if (has === had) continue
      repaired ??= { ...value }
      if (has === undefined) delete repaired[name]
      else repaired[name] = has
    }
    const result = repaired ?? value
    return required.every((name) => Object.hasOwn(result, name)) ? result : undefined
  }
}

const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** A moment with its time zone, as clients check it. */
const aDateTime: FieldSanitizer = acceptIf((value) => {
  const [, year, month, day] = (typeof value === 'string' && DATE_TIME.exec(value)) || []
  if (year === undefined) return false
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(`${year}-${month}-${day}`)
})

/** The protocol's limit. */
const MAX_COMPLETIONS = 100
export const RELATED_TASK = 'io.modelcontextprotocol/related-task'

const annotations = objectOf({
  audience: listOf(oneOf('user', 'assistant')),
  priority: between(0, 1),
  lastModified: aDateTime,
})
const icons = listOf(
  objectOf({ src: aString, mimeType: aString, sizes: listOf(aString), theme: oneOf('light', 'dark') }, ['src']),
)

/** Optional members of items, of a result's `_meta` and of an error that are more than a string or an object. */
export const MEMBER_SANITIZERS: ReadonlyMap<string, FieldSanitizer> = new Map<string, FieldSanitizer>([
  ['annotations', annotations],
  ['icons', icons],
  ['size', aNumber],
  ['progressToken', (value) => aString(value) ?? anInteger(value)],
  [RELATED_TASK, objectOf({ taskId: aString }, ['taskId'])],
  // In the data of an error: by those of ours clients know what the gateway decided.
  ['code', (value) => (typeof value === 'string' && Object.hasOwn(ERRORS, value) ? undefined : value)],
])

export const sanitizeCompletion: FieldSanitizer = objectOf(
  { values: listOf(aString, MAX_COMPLETIONS), total: anInteger, hasMore: aBoolean },
  ['values'],
)

/** What a notice of each kind has to be; `_meta` is checked with it. */
const noticeMeta = objectOf({ progressToken: (value) => aString(value) ?? anInteger(value) })

export const sanitizeLogMessage: FieldSanitizer = objectOf(
  { level: oneOf(...LOG_LEVELS), logger: aString, _meta: noticeMeta },
  ['level', 'data'],
)

export const sanitizeProgress: FieldSanitizer = objectOf(
  { progress: aNumber, total: aNumber, message: aString, _meta: noticeMeta },
  ['progress'],
)

const described = { title: aString, description: aString, icons, _meta: anObject }
const resource = { ...described, mimeType: aString, annotations }

/** A property that may be anything, or nothing, was a boolean before clients took those. */
const propertySchema: FieldSanitizer = (value) => {
  if (typeof value === 'boolean') return value ? {} : { not: {} }
  return anObject(value)
}

/** Every property has an object for its schema. */
const properties: FieldSanitizer = (value) => {
  if (!isJsonObject(value)) return undefined
  let repaired: Record<string, Json | undefined> | undefined
  for (const name in value) {
    const had = value[name] as Json
    const has = propertySchema(had) ?? {}
    if (has === had) continue
    repaired ??= { ...value }
    repaired[name] = has
  }
  return repaired ?? value
}

const objectSchema = objectOf({ properties, required: listOf(aString) })

/** Arguments are an object, whether their schema says so or not. */
const inputSchema: FieldSanitizer = (value) => {
  const schema = objectSchema(value)
  return isJsonObject(schema) && schema.type !== 'object' ? { ...schema, type: 'object' } : schema
}

/** Legacy clients take no other. */
const legacyOutput: FieldSanitizer = (value) => {
  const schema = objectSchema(value)
  return isJsonObject(schema) && schema.type === 'object' ? schema : undefined
}

const tool = {
  ...described,
  inputSchema,
  annotations: objectOf({
    title: aString,
    readOnlyHint: aBoolean,
    destructiveHint: aBoolean,
    idempotentHint: aBoolean,
    openWorldHint: aBoolean,
  }),
  execution: objectOf({ taskSupport: oneOf('required', 'optional', 'forbidden') }),
}

const entries = {
  'legacy tool': objectOf({ ...tool, outputSchema: legacyOutput }),
  'modern tool': objectOf({ ...tool, outputSchema: objectOf({ $schema: aString }) }),
  prompt: objectOf({
    ...described,
    arguments: listOf(objectOf({ name: aString, title: aString, description: aString, required: aBoolean }, ['name'])),
  }),
  resource: objectOf({ ...resource, size: aNumber }),
  template: objectOf(resource),
} as const

/**
 * An entry of a list without the optional fields that the protocol does not allow: a client that checks what it gets
 * would throw the whole list away. The very same where all is allowed.
 */
export function sanitizeEntry(kind: keyof typeof entries, entry: JsonObject): JsonObject {
  const allowed = entries[kind](entry)
  if (!isJsonObject(allowed)) return entry
  if (typeof allowed.name === 'string') return allowed
  // Of resources alone: tools and prompts without one are not listed.
  return { ...allowed, name: String(allowed.uri ?? allowed.uriTemplate) }
}
