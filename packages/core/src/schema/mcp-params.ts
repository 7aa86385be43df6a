import { isJsonList, isJsonObject, type Json, type JsonObject } from '../json/json.ts'
import { quoteText } from '../text/excerpt.ts'

/** An argument that HTTP clients repeat in a header, because its schema has `x-mcp-header`. */
export interface McpParam {
  /** In lower case. */
  readonly header: string
  /** The path to it in the arguments. */
  readonly path: readonly string[]
  readonly type: 'string' | 'integer' | 'boolean'
}

/** All such arguments of a tool, or why HTTP clients must not use its schema. */
export type McpParams = { readonly params: readonly McpParam[] } | { readonly problem: string }

/** The header name is this prefix and the name in the schema. */
export const PARAM_PREFIX = 'mcp-param-'

const ANNOTATION = 'x-mcp-header'
/** A token of RFC 9110. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
const TYPES: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])
const DECIMAL = /^-?\d+(\.\d+)?$/

/** Keywords that contain schemas by name. */
const NAMED_SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  'patternProperties',
  'dependentSchemas',
  'dependencies',
  '$defs',
  'definitions',
])
/** Keywords that contain one schema, or a list of them. */
const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  ...['items', 'prefixItems', 'additionalItems', 'contains', 'unevaluatedItems', 'contentSchema'],
  ...['additionalProperties', 'unevaluatedProperties', 'propertyNames'],
  ...['oneOf', 'anyOf', 'allOf', 'not', 'if', 'then', 'else'],
])

/** `undefined` below any keyword other than `properties`: an annotation is forbidden there. */
type PropertyPath = readonly string[] | undefined

/** Reads the annotations of an input schema (2026-07-28, "Custom Headers from Tool Parameters"). */
export function readMcpParams(inputSchema: JsonObject): McpParams {
  const found = new Map<string, McpParam>()
  const problem = visit(inputSchema, [], found)
  return problem === undefined ? { params: [...found.values()] } : { problem }
}

/** The header value of an argument; `undefined` if it is missing, null, or of a type that headers cannot carry. */
export function formatParam({ path }: McpParam, args: JsonObject): string | undefined {
  const value = valueAt(args, path)
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

/** Whether a header value agrees with the arguments. Integers may be written in more than one way. */
export function matchesParam(param: McpParam, args: JsonObject, text: string): boolean {
  const value = valueAt(args, param.path)
  if (param.type === 'integer' && typeof value === 'number' && DECIMAL.test(text)) return Number(text) === value
  return formatParam(param, args) === text
}

function visit(schema: Json | undefined, path: PropertyPath, found: Map<string, McpParam>): string | undefined {
  if (!isJsonObject(schema)) return undefined
  const problem = Object.hasOwn(schema, ANNOTATION) ? addParam(schema, path, found) : undefined
  if (problem !== undefined) return problem
  for (const [keyword, value] of Object.entries(schema)) {
    for (const [child, childPath] of listChildren(keyword, value, path)) {
      const below = visit(child, childPath, found)
      if (below !== undefined) return below
    }
  }
  return undefined
}

function listChildren(
  keyword: string,
  value: Json | undefined,
  path: PropertyPath,
): readonly (readonly [Json, PropertyPath])[] {
  if (keyword === 'properties' && isJsonObject(value))
    return Object.entries(value).map(([name, child]) => [child ?? null, path && [...path, name]])
  if (NAMED_SCHEMA_KEYWORDS.has(keyword) && isJsonObject(value))
    return Object.values(value).map((child) => [child ?? null, undefined])
  if (!SCHEMA_KEYWORDS.has(keyword) || value === undefined) return []
  return isJsonList(value) ? value.map((child) => [child, undefined]) : [[value, undefined]]
}

function addParam(schema: JsonObject, path: PropertyPath, found: Map<string, McpParam>): string | undefined {
  const { [ANNOTATION]: name, type } = schema
  if (path === undefined || path.length === 0)
    return `an ${ANNOTATION} of its inputSchema cannot be reached through properties alone`
  if (typeof name !== 'string' || !TOKEN.test(name))
    return `its ${ANNOTATION} ${typeof name === 'string' ? quoteText(name, 80) : 'that is not a string'} is not a valid header name`
  if (!TYPES.has(type)) return `its ${ANNOTATION} ${name} is at a property that is not a string, integer or boolean`
  const header = `${PARAM_PREFIX}${name.toLowerCase()}`
  if (found.has(header)) return `its ${ANNOTATION} ${name} occurs twice`
  found.set(header, { header, path, type: type as McpParam['type'] })
  return undefined
}

/** Reads own members only: a name may be `constructor`. */
function valueAt(args: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = args
  for (const name of path) {
    if (!isJsonObject(value) || !Object.hasOwn(value, name)) return undefined
    value = value[name]
  }
  return value
}
