import { isJsonList, isJsonObject, type Json, type JsonObject, SallyportError } from '@sallyport/core'

const IDENTITY_FIELDS = new Set(['userid', 'sessionid'])
const APPLICATORS = ['allOf', 'anyOf', 'oneOf', 'if', 'then', 'else', 'dependentSchemas'] as const
const MAX_SCHEMA_DEPTH = 16

/** Who calls is proved by a token: a tool that takes it as an argument would believe whoever fills it in. */
export function assertNoIdentityFields(tool: string, schema: JsonObject): void {
  const field = findIdentityField(schema, schema, 0)
  if (field === undefined) return
  throw new SallyportError('USAGE', `The input of the tool "${tool}" has an argument "${field}".`, {
    hint: 'Take it out, and ask getUserId() or getSessionId() in the handler: they come from the verified token.',
  })
}

function findIdentityField(schema: Json | undefined, root: JsonObject, depth: number): string | undefined {
  if (!isJsonObject(schema) || depth > MAX_SCHEMA_DEPTH) return undefined
  const required: readonly unknown[] = isJsonList(schema.required) ? schema.required : []
  const names = [...Object.keys(isJsonObject(schema.properties) ? schema.properties : {}), ...required]
  const own = names.find(
    (name) => typeof name === 'string' && IDENTITY_FIELDS.has(name.toLowerCase().replace(/[^a-z0-9]/g, '')),
  )
  if (own !== undefined) return String(own)
  for (const part of listSubschemas(schema, root)) {
    const found = findIdentityField(part, root, depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

/** The schemas that speak of the same arguments. */
function listSubschemas(schema: JsonObject, root: JsonObject): readonly (Json | undefined)[] {
  const parts = APPLICATORS.flatMap((keyword): readonly (Json | undefined)[] => {
    const value = schema[keyword]
    if (keyword === 'dependentSchemas') return isJsonObject(value) ? Object.values(value) : []
    return isJsonList(value) ? value : [value]
  })
  return typeof schema.$ref === 'string' ? [...parts, resolveRef(schema.$ref, root)] : parts
}

function resolveRef(reference: string, root: JsonObject): Json | undefined {
  if (!reference.startsWith('#')) return undefined
  let value: Json | undefined = root
  for (const part of reference.slice(1).split('/').slice(1)) {
    if (!isJsonObject(value)) return undefined
    value = value[part.replaceAll('~1', '/').replaceAll('~0', '~')]
  }
  return value
}
