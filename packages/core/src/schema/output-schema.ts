import { isJsonList, isJsonObject, type Json, type JsonObject } from '../json/json.ts'

/** Keywords whose values are data: a `$ref` in there points nowhere. */
const DATA: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'examples'])
/** Keywords that hold schemas under names of the author's choice, which may be those of keywords. */
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
 * The schema that a legacy client, which knows objects only, is shown for a result of any other kind: an object that
 * holds it as `result`. Nothing where it is the schema of an object already.
 */
export function wrapOutputSchema(schema: Json | undefined): JsonObject | undefined {
  if (typeof schema === 'boolean') return wrapResult(schema)
  if (!isJsonObject(schema) || schema.type === 'object') return undefined
  const dialect = typeof schema.$schema === 'string' ? { $schema: schema.$schema } : {}
  return { ...dialect, ...wrapResult(moveReferences(schema)) }
}

const wrapResult = (result: Json): JsonObject => ({ type: 'object', properties: { result }, required: ['result'] })

/** The same schema one storey lower: what pointed to its root or a place in it still does. */
function moveReferences(schema: JsonObject): JsonObject {
  // References inside such a schema are resolved against its own address, wherever it stands.
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

/** Pointers begin with a slash; `#name` is an anchor, which moves with what it names. */
function movePointer(reference: Json): Json {
  if (reference === '#') return ROOT
  return typeof reference === 'string' && reference.startsWith('#/') ? `${ROOT}${reference.slice(1)}` : reference
}

function mapMembers(object: JsonObject, change: (value: Json, key: string) => Json): JsonObject {
  // Entries define their keys: one that is called __proto__ stays a member.
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, change(value ?? null, key)]))
}
