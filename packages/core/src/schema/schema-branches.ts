import { isJsonObject, type Json, type JsonObject } from '../json/json.ts'

/** All schemas that may describe one value, with alternatives and local references expanded. */
export type SchemaBranches = readonly JsonObject[]

const MAX_SCHEMAS = 64

/** Expands a schema. The number of branches is limited, since the schema comes from the server. */
export function expandSchema(schema: Json | undefined, root: Json | undefined): SchemaBranches {
  const found = new Set<JsonObject>()
  const pending: (Json | undefined)[] = [schema]
  while (pending.length > 0 && found.size < MAX_SCHEMAS) {
    const next = pending.pop()
    if (!isJsonObject(next) || found.has(next)) continue
    found.add(next)
    for (const branches of [own(next, 'anyOf'), own(next, 'oneOf'), own(next, 'allOf')])
      if (Array.isArray(branches)) pending.push(...branches.slice(0, MAX_SCHEMAS))
    const ref = own(next, '$ref')
    if (typeof ref === 'string' && ref.startsWith('#/')) pending.push(resolvePointer(ref, root))
  }
  return [...found]
}

export const expandMember = (view: SchemaBranches, key: string, root: Json | undefined): SchemaBranches =>
  view.flatMap((schema) => {
    const properties = own(schema, 'properties')
    const member = isJsonObject(properties) ? own(properties, key) : undefined
    return expandSchema(member ?? own(schema, 'additionalProperties'), root)
  })

/** The names of an object's members; `undefined` if the schema does not list them, or allows patterns of names. */
export function listMemberNames(schema: Json | undefined): readonly string[] | undefined {
  const view = expandSchema(schema, schema)
  if (view.some((part) => own(part, 'patternProperties') !== undefined)) return undefined
  const names = view.flatMap((part) => Object.keys(own(part, 'properties') ?? {}))
  return names.length === 0 ? undefined : names
}

/** The schemas that may describe an item, at any position of its array. */
export const expandItems = (view: SchemaBranches, root: Json | undefined): SchemaBranches =>
  view.flatMap((schema) => {
    const prefix = own(schema, 'prefixItems')
    const items = [
      ...(Array.isArray(prefix) ? (prefix as readonly Json[]).slice(0, MAX_SCHEMAS) : []),
      own(schema, 'items'),
    ]
    return items.flatMap((item) => expandSchema(item, root))
  })

export const hasFormat = (view: SchemaBranches, formats: ReadonlySet<string>): boolean =>
  view.some((schema) => {
    const format = own(schema, 'format')
    return typeof format === 'string' && formats.has(format)
  })

const own = (object: JsonObject, key: string): Json | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined

function resolvePointer(ref: string, root: Json | undefined): Json | undefined {
  let at: Json | undefined = root
  for (const key of ref.slice(2).split('/')) {
    if (!isJsonObject(at)) return undefined
    at = own(at, key.replaceAll('~1', '/').replaceAll('~0', '~'))
  }
  return at
}
