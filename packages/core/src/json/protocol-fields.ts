import { ERRORS } from '../errors.ts'
import { LOG_LEVELS } from '../protocol.ts'
import {
  aBoolean,
  aDateTime,
  aNumber,
  anInteger,
  anObject,
  aString,
  between,
  type FieldSanitizer,
  listOf,
  objectOf,
  oneOf,
} from './field-check.ts'
import { isJsonObject, type Json, type JsonObject } from './json-value.ts'

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
