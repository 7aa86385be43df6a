import { isJsonObject, type JsonObject, type McpParam, readMcpParams } from '@sallyport/core'
import type { Offer } from './offer.ts'

const NONE: readonly McpParam[] = Object.freeze([])
const paramsCache = new WeakMap<JsonObject, readonly McpParam[]>()

/**
 * The arguments that HTTP repeats in headers in the modern era, where a tool has such. Looked for when somebody calls
 * the tool: to go through the schemas of thousands of tools would hold up the first list.
 */
export function findHeaderParams({ kind, original }: Offer): readonly McpParam[] {
  if (kind !== 'tool') return NONE
  const params = paramsCache.get(original) ?? readParams(original)
  paramsCache.set(original, params)
  return params
}

/** A schema whose annotations break the rules is taken as one that has none: no client may follow it. */
function readParams({ inputSchema }: JsonObject): readonly McpParam[] {
  const read = isJsonObject(inputSchema) ? readMcpParams(inputSchema) : { params: NONE }
  return 'problem' in read ? NONE : read.params
}
