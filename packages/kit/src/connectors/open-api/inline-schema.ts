import { isJsonList, isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import { resolveReference } from './document.ts'

/** As deep and as large as an inlined schema gets; what is beyond is left out, and says so. */
const MAX_DEPTH = 8
const MAX_PARTS = 3_000
const OMITTED: JsonObject = { description: 'Left out: the description of the API is too large here.' }

const MAX_PATTERN_LENGTH = 200

/** Keywords that hold a schema, several by name, or several in a row. All others hold data. */
const SCHEMA_KEYWORDS = new Set([
  'items',
  'additionalProperties',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'propertyNames',
])
const SCHEMA_MAP_KEYWORDS = new Set(['properties', 'patternProperties', 'dependentSchemas'])
const SCHEMA_LIST_KEYWORDS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems'])

/**
 * What is left out accepts everything. Under these keywords that would refuse what the API takes: they are left out as
 * well, and the API checks.
 */
const STRICT_KEYWORDS = new Set(['not', 'if', 'oneOf', 'contains'])

/** A schema with its references put in place, however they run in circles or multiply. Whatever is cut, it stays valid. */
export function inlineSchema(document: JsonObject, schema: Json | undefined): JsonObject {
  let parts = MAX_PARTS
  let cuts = 0
  const inline = (value: Json | undefined, depth: number): Json => {
    if (typeof value === 'boolean') return value
    const meant = resolveReference(document, value)
    if (meant === undefined) return {}
    if (--parts < 0 || depth > MAX_DEPTH) {
      cuts++
      return OMITTED
    }
    const checked = withoutPatterns(meant)
    if (checked !== meant) cuts++
    const keywords = Object.entries(checked).flatMap(([keyword, operand]) =>
      operand === undefined ? [] : inlineKeyword(keyword, operand, depth),
    )
    return modernizeKeywords(Object.fromEntries(keywords))
  }
  const inlineKeyword = (keyword: string, operand: Json, depth: number): readonly (readonly [string, Json])[] => {
    const before = cuts
    const inlined = inlineOperand(keyword, operand, depth)
    if (inlined === undefined || (cuts > before && STRICT_KEYWORDS.has(keyword))) return []
    return [[keyword, inlined]]
  }
  const inlineOperand = (keyword: string, operand: Json, depth: number): Json | undefined => {
    if (SCHEMA_KEYWORDS.has(keyword)) return inline(operand, depth + 1)
    if (SCHEMA_LIST_KEYWORDS.has(keyword) && isJsonList(operand)) return operand.map((part) => inline(part, depth + 1))
    if (SCHEMA_MAP_KEYWORDS.has(keyword) && isJsonObject(operand))
      return Object.fromEntries(Object.entries(operand).map(([name, part]) => [name, inline(part, depth + 1)]))
    parts -= JSON.stringify(operand).length >>> 4
    if (parts >= 0) return operand
    cuts++
    return undefined
  }
  const inlined = schema === undefined ? {} : inline(schema, 0)
  return isJsonObject(inlined) ? inlined : {}
}

/** The pattern of a stranger could stop this process for as long as it likes. The API checks it; the model reads it. */
function withoutPatterns(schema: JsonObject): JsonObject {
  const { pattern, patternProperties, additionalProperties, ...rest } = schema
  if (pattern === undefined && patternProperties === undefined) return schema
  const { description } = schema
  const told = typeof pattern === 'string' ? [`Pattern: ${pattern.slice(0, MAX_PATTERN_LENGTH)}`] : []
  const words = [...(typeof description === 'string' ? [description] : []), ...told]
  return {
    ...rest,
    ...(words.length > 0 && { description: words.join(' ') }),
    // Which members are additional depends on the patterns of their names.
    ...(patternProperties === undefined && additionalProperties !== undefined && { additionalProperties }),
  }
}

/** What OpenAPI 3.0 says in words of its own, in those of JSON Schema. A property of such a name is no boolean. */
function modernizeKeywords(schema: JsonObject): JsonObject {
  const { nullable, ...rest } = schema
  const plain = typeof nullable === 'boolean' ? { ...rest, ...(nullable && makeNullable(rest)) } : schema
  return convertBound(convertBound(plain, ['minimum', 'exclusiveMinimum']), ['maximum', 'exclusiveMaximum'])
}

function makeNullable({ type, enum: options }: JsonObject): JsonObject {
  return {
    ...(typeof type === 'string' && { type: [type, 'null'] }),
    ...(isJsonList(options) && !options.includes(null) && { enum: [...options, null] }),
  }
}

function convertBound(schema: JsonObject, [bound, exclusive]: readonly [string, string]): JsonObject {
  const { [bound]: limit, [exclusive]: isExclusive, ...rest } = schema
  if (typeof isExclusive !== 'boolean') return schema
  return limit === undefined ? rest : { ...rest, [isExclusive ? exclusive : bound]: limit }
}
