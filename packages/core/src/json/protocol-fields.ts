import { ERRORS } from '../errors.ts'
import { LOG_LEVELS } from '../protocol.ts'
import { isJsonObject, type Json, type JsonObject } from './json-value.ts'

/** Returns the same value if it is allowed, a repaired one if parts of it are not, otherwise `undefined`. */
type FieldSanitizer = (value: Json) => Json | undefined

const acceptIf =
  (isAllowed: (value: Json) => boolean): FieldSanitizer =>
  (value) =>
    isAllowed(value) ? value : undefined

const aString: FieldSanitizer = acceptIf((value) => typeof value === 'string')
const aBoolean: FieldSanitizer = acceptIf((value) => typeof value === 'boolean')
/** Finite, because parsers turn a too large number into Infinity. */
const aNumber: FieldSanitizer = acceptIf(Number.isFinite)
const anInteger: FieldSanitizer = acceptIf(Number.isSafeInteger)
const anObject: FieldSanitizer = acceptIf(isJsonObject)

const oneOf = (...allowed: readonly Json[]): FieldSanitizer => acceptIf((value) => allowed.includes(value))

const between = (min: number, max: number): FieldSanitizer =>
  acceptIf((value) => typeof value === 'number' && value >= min && value <= max)

/** Removes the items that are not allowed. */
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

/** Removes the fields that are not allowed; `undefined` if a required one is missing then. Unknown fields pass. */
function objectOf(fields: ObjectFields, required: readonly string[] = []): FieldSanitizer {
  const checks = Object.entries(fields)
  return (value) => {
    if (!isJsonObject(value)) return undefined
    let repaired: Record<string, Json | undefined> | undefined
    for (const [name, check] of checks) {
      const before = Object.hasOwn(value, name) ? value[name] : undefined
      if (before === undefined) continue
      const after = check(before)
      if (after === before) continue
      repaired ??= { ...value }
      if (after === undefined) delete repaired[name]
      else repaired[name] = after
    }
    const result = repaired ?? value
    return required.every((name) => Object.hasOwn(result, name)) ? result : undefined
  }
}

const DATE_TIME =
  /^(\d{4})-(\d\d)-(\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** A date and time with a time zone, by the same rules that clients check. */
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

/** Optional members that need more than a type check: of items, of a result's `_meta` and of an error. */
export const MEMBER_SANITIZERS: ReadonlyMap<string, FieldSanitizer> = new Map<string, FieldSanitizer>([
  ['annotations', annotations],
  ['icons', icons],
  ['size', aNumber],
  ['progressToken', (value) => aString(value) ?? anInteger(value)],
  [RELATED_TASK, objectOf({ taskId: aString }, ['taskId'])],
  // In the data of an error: a server must not use our codes, since clients read the gateway's decision from them.
  ['code', (value) => (typeof value === 'string' && Object.hasOwn(ERRORS, value) ? undefined : value)],
])

export const sanitizeCompletion: FieldSanitizer = objectOf(
  { values: listOf(aString, MAX_COMPLETIONS), total: anInteger, hasMore: aBoolean },
  ['values'],
)

/** `_meta` of a notification. */
const notificationMeta = objectOf({ progressToken: (value) => aString(value) ?? anInteger(value) })

export const sanitizeLogMessage: FieldSanitizer = objectOf(
  { level: oneOf(...LOG_LEVELS), logger: aString, _meta: notificationMeta },
  ['level', 'data'],
)

export const sanitizeProgress: FieldSanitizer = objectOf(
  { progress: aNumber, total: aNumber, message: aString, _meta: notificationMeta },
  ['progress'],
)

const described = { title: aString, description: aString, icons, _meta: anObject }
const resource = { ...described, mimeType: aString, annotations }

/** Some clients do not accept a boolean as the schema of a property, so it becomes an equivalent object. */
const propertySchema: FieldSanitizer = (value) => {
  if (typeof value === 'boolean') return value ? {} : { not: {} }
  return anObject(value)
}

/** Makes the schema of every property an object. */
const properties: FieldSanitizer = (value) => {
  if (!isJsonObject(value)) return undefined
  let repaired: Record<string, Json | undefined> | undefined
  for (const name in value) {
    const before = value[name] as Json
    const after = propertySchema(before) ?? {}
    if (after === before) continue
    repaired ??= { ...value }
    repaired[name] = after
  }
  return repaired ?? value
}

const objectSchema = objectOf({ properties, required: listOf(aString) })

/** Arguments are always an object, even if the schema does not say so. */
const inputSchema: FieldSanitizer = (value) => {
  const schema = objectSchema(value)
  return isJsonObject(schema) && schema.type !== 'object' ? { ...schema, type: 'object' } : schema
}

/** Legacy clients accept only schemas of objects. */
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
 * Removes the optional fields of a list entry that the protocol does not allow: a strict client would reject the whole
 * list because of them. Returns the same object if all are allowed.
 */
export function sanitizeEntry(kind: keyof typeof entries, entry: JsonObject): JsonObject {
  const allowed = entries[kind](entry)
  if (!isJsonObject(allowed)) return entry
  if (typeof allowed.name === 'string') return allowed
  // Only resources come here: tools and prompts without a name are not listed.
  return { ...allowed, name: String(allowed.uri ?? allowed.uriTemplate) }
}
