import { isJsonList, isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import { resolveReference } from './document.ts'

/** The maximum depth and size of an inlined schema; deeper parts are left out, with a note. */
const MAX_DEPTH = 8
const MAX_PARTS = 3_000
const OMITTED: JsonObject = { description: 'Left out: the description of the API is too large here.' }

const MAX_PATTERN_LENGTH = 200

/** Keywords whose value is a schema, a mapping of schemas, or a list of schemas. All others contain data. */
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
 * An omitted schema accepts everything. Under these keywords that would refuse valid values, so the keywords are left
 * out too, and the API checks them.
 */
const STRICT_KEYWORDS = new Set(['not', 'if', 'oneOf', 'contains'])

/** Replaces the references of a schema by their targets, even if they are cyclic or multiply. The result is always a valid schema. */
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

/** A foreign regular expression could block this process. So the API checks the pattern, and the model reads it. */
function withoutPatterns(schema: JsonObject): JsonObject {
  const { pattern, patternProperties, additionalProperties, ...rest } = schema
  if (pattern === undefined && patternProperties === undefined) return schema
  const { description } = schema
  const patternNote = typeof pattern === 'string' ? [`Pattern: ${pattern.slice(0, MAX_PATTERN_LENGTH)}`] : []
  const parts = [...(typeof description === 'string' ? [description] : []), ...patternNote]
  return {
    ...rest,
    ...(parts.length > 0 && { description: parts.join(' ') }),
    // Which members are additional depends on the patterns of their names.
    ...(patternProperties === undefined && additionalProperties !== undefined && { additionalProperties }),
  }
}

/** Converts OpenAPI 3.0 keywords to JSON Schema. Only booleans are converted: a property may have the same name. */
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
