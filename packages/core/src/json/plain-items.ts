import { BLOCK_RULES } from './item-rules.ts'
import { isJsonObject, type Json, type JsonObject } from './json-value.ts'
import { RELATED_TASK } from './protocol-fields.ts'

/**
 * Whether no item of a parsed result needs a check: all are plain texts, or types that the protocol does not define.
 * This is true of most results. For all others the scanner finds the problems.
 */
export function hasPlainItems({ content, contents, messages, _meta }: JsonObject): boolean {
  if (contents !== undefined || messages !== undefined) return false
  if (Array.isArray(content)) for (const item of content) if (!isPlainItem(item)) return false
  return !isJsonObject(_meta) || (_meta.progressToken === undefined && _meta[RELATED_TASK] === undefined)
}

function isPlainItem(item: Json): boolean {
  if (!isJsonObject(item)) return false
  const { type, text, annotations, _meta } = item
  if (type !== 'text') return typeof type === 'string' && !BLOCK_RULES.has(type)
  return typeof text === 'string' && annotations === undefined && (_meta === undefined || isJsonObject(_meta))
}
