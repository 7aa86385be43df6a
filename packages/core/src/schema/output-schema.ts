import { isJsonList, isJsonObject, type Json, type JsonObject } from '../json/json.ts'

/** Keywords whose values are data: a `$ref` inside is not a reference. */
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])
/** Keywords that contain schemas by name. The author chooses the names, so they may equal keywords. */
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  'dependentSchemas',
  'dependencies',
  '$defs',
  'definitions',
])

const ROOT = '#/properties/result'

/**
 * Legacy clients support only schemas of objects. So any other schema is wrapped into an object with the member
 * `result`. `undefined` if it is the schema of an object already.
 */
export function wrapOutputSchema(schema: Json | undefined): JsonObject | undefined {
  if (typeof schema === 'boolean') return wrapResult(schema)
  if (!isJsonObject(schema) || schema.type === 'object') return undefined
  const dialect = typeof schema.$schema === 'string' ? { $schema: schema.$schema } : {}
  return { ...dialect, ...wrapResult(moveReferences(schema)) }
}

const wrapResult = (result: Json): JsonObject => ({ type: 'object', properties: { result }, required: ['result'] })

/** The schema one level deeper: adjusts its references, so that they still point to the same parts. */
function moveReferences(schema: JsonObject): JsonObject {
  // References in a schema with an `$id` are resolved against that `$id`, wherever the schema is.
  if (typeof schema.$id === 'string' && !schema.$id.startsWith('#')) return schema
  return mapMembers(schema, (value, keyword) => {
    if (keyword === '$ref' || keyword === '$dynamicRef') return movePointer(value)
    if (DATA.has(keyword)) return value
    return NAMED.has(keyword) && isJsonObject(value) ? mapMembers(value, moveNested) : moveNested(value)
  })
}

function moveNested(value: Json): Json {
  if (isJsonList(value)) return value.map(moveNested)
  return isJsonObject(value) ? moveReferences(value) : value
}

/** Pointers begin with a slash. `#name` is an anchor, which moves with its schema. */
function movePointer(reference: Json): Json {
  if (reference === '#') return ROOT
  return typeof reference === 'string' && reference.startsWith('#/') ? `${ROOT}${reference.slice(1)}` : reference
}

function mapMembers(object: JsonObject, change: (value: Json, key: string) => Json): JsonObject {
  // `fromEntries` defines the members, so `__proto__` stays an ordinary member.
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value ?? null, key)]))
}
