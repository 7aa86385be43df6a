import { isJsonList, isJsonObject, type Json, type JsonObject } from '../json/json.ts'
import { quoteText } from '../text/excerpt.ts'

/** An argument of a tool that HTTP repeats in a header, since its schema has an `x-mcp-header`. */
export interface McpParam {
  /** In lower case. */
  readonly header: string
  /** The names that lead to it in the arguments. */
  readonly path: readonly string[]
  readonly type: 'string' | 'integer' | 'boolean'
}

/** Every such argument of a tool; or why its schema is none that HTTP clients may use. */
export type McpParams = { readonly params: readonly McpParam[] } | { readonly problem: string }

/** Before the name that a schema gives, this makes the name of the header. */
export const PARAM_PREFIX = 'mcp-param-'

const ANNOTATION = 'x-mcp-header'
/** What RFC 9110 calls a token. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])
const DECIMAL = /^-?\d+(\.\d+)?$/

/** Keywords that hold schemas by name. */
const NAMED_SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  'patternProperties',
  'dependentSchemas',
  'dependencies',
  '$defs',
  'definitions',
])
/** Keywords that hold one schema, or a list of them. */
const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  ...['items', 'prefixItems', 'additionalItems', 'contains', 'unevaluatedItems', 'contentSchema'],
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames'],
  ...['oneOf', 'anyOf', 'allOf', 'not', 'if', 'then', 'else'],
])

/** No path where more than a chain of `properties` leads: there an annotation is forbidden. */
type PropertyPath = readonly string[] | undefined

/** Reads the annotations of an input schema (2026-07-28, "Custom Headers from Tool Parameters"). */
export function readMcpParams(inputSchema: JsonObject): McpParams {
  const found = new Map<string, McpParam>()
  const problem = visit(inputSchema, [], found)
  return problem === undefined ? { params: [...found.values()] } : { problem }
}

/** What the header of this argument says: nothing when it is absent or null, or is none that a header carries. */
export function formatParam({ path }: McpParam, args: JsonObject): string | undefined {
  const value = valueAt(args, path)
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

/** Whether a header's text says what the arguments say. Whole numbers may be written in more than one way. */
export function matchesParam(param: McpParam, args: JsonObject, text: string): boolean {
  const value = valueAt(args, param.path)
  if (param.type === 'integer' && typeof value === 'number' && DECIMAL.test(text)) return Number(text) === value
  return formatParam(param, args) === text
}

function visit(schema: Json | undefined, place: PropertyPath, found: Map<string, McpParam>): string | undefined {
  if (!isJsonObject(schema)) return undefined
  const flaw = Object.hasOwn(schema, ANNOTATION) ? addParam(schema, place, found) : undefined
  if (flaw !== undefined) return flaw
  for (const [keyword, value] of Object.entries(schema)) {
    for (const [child, itsPlace] of listChildren(keyword, value, place)) {
      const below = visit(child, itsPlace, found)
      if (below !== undefined) return below
    }
  }
  return undefined
}

function listChildren(
  keyword: string,
  value: Json | undefined,
  place: PropertyPath,
): readonly (readonly [Json, PropertyPath])[] {
  if (keyword === 'properties' && isJsonObject(value))
    return Object.entries(value).map(([name, child]) => [child ?? null, place && [...place, name]])
  if (NAMED_SCHEMA_KEYWORDS.has(keyword) && isJsonObject(value))
    return Object.values(value).map((child) => [child ?? null, undefined])
  if (!SCHEMA_KEYWORDS.has(keyword) || value === undefined) return []
  return isJsonList(value) ? value.map((child) => [child, undefined]) : [[value, undefined]]
}

function addParam(schema: JsonObject, place: PropertyPath, found: Map<string, McpParam>): string | undefined {
  const { [ANNOTATION]: name, type } = schema
  if (place === undefined || place.length === 0)
    return `an ${ANNOTATION} of its inputSchema stands where no chain of properties leads`
  if (typeof name !== 'string' || !TOKEN.test(name))
    return `its ${ANNOTATION} ${typeof name === 'string' ? quoteText(name, 80) : 'of another kind than text'} is no name of a header`
  if (!TYPES.has(type)) return `its ${ANNOTATION} ${name} is at a property that is no string, integer or boolean`
  const header = `${PARAM_PREFIX}${name.toLowerCase()}`
  if (found.has(header)) return `its ${ANNOTATION} ${name} stands twice`
  found.set(header, { header, path: place, type: type as McpParam['type'] })
  return undefined
}

/** Only what is written there counts: a path may be called `constructor`. */
function valueAt(args: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = args
  for (const name of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}
