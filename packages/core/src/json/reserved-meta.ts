import { META } from '../protocol.ts'
import { isJsonObject, type Json, type JsonObject } from './json-value.ts'

export const META_KEY = '_meta'
const GATEWAY_PREFIX = 'sallyport/'
/** Data of a tool or of a caller: a `_meta` in there is data as well. */
const DATA_KEYS: ReadonlySet<string> = new Set(['structuredContent', 'arguments', 'inputSchema', 'outputSchema'])

/** Keys of `_meta` that only the gateway may send: what it says there is believed. */
export const isGatewayKey = (key: string): boolean => key.startsWith(GATEWAY_PREFIX)

/** Whether this is not for anybody else to say in a `_meta`: one of our keys, or who the server is. */
const isReservedKey = (key: string): boolean => isGatewayKey(key) || key === META.serverInfo

/** The same without what only the gateway may say in a `_meta`; the very same value where there is none of that. */
export function stripReservedMeta<Value extends Json>(value: Value): Value {
  if (Array.isArray(value)) return stripList(value) as Json as Value
  return isJsonObject(value) ? (stripObject(value) as Json as Value) : value
}

function stripList(list: readonly Json[]): readonly Json[] {
  let changed: Json[] | undefined
  for (const [index, item] of list.entries()) {
    const clean = stripReservedMeta(item)
    if (clean === item) continue
    changed ??= [...list]
    changed[index] = clean
  }
  return changed ?? list
}

function stripObject(object: JsonObject): JsonObject {
  let changed: Record<string, Json | undefined> | undefined
  for (const key in object) {
    const value = object[key]
    if (value === undefined || DATA_KEYS.has(key)) continue
    const clean = stripReservedMeta(key === META_KEY && isJsonObject(value) ? dropReservedKeys(value) : value)
    if (clean === value) continue
    changed ??= { ...object }
    changed[key] = clean
  }
  return changed ?? object
}

/** The same of the `_meta` of a message. */
function dropReservedKeys(meta: JsonObject): JsonObject {
  let found = false
  for (const key in meta) found ||= isReservedKey(key)
  return found ? Object.fromEntries(Object.entries(meta).filter(([key]) => !isReservedKey(key))) : meta
}

/** The same of what a client sends, who is not the gateway either. */
export function sanitizeClientMeta(meta: JsonObject): JsonObject {
  const clean = dropReservedKeys(meta)
  const info = clean[META.clientInfo]
  const named = sanitizeClientInfo(info)
  return named === info ? clean : { ...clean, [META.clientInfo]: named }
}

const GATEWAY_NAME = 'sallyport'

/** How a client introduces itself: by the gateway's own name it is not introduced to servers. */
export function sanitizeClientInfo(clientInfo: Json | undefined): Json | undefined {
  const name = isJsonObject(clientInfo) ? clientInfo.name : undefined
  if (!isJsonObject(clientInfo) || typeof name !== 'string' || name.length > 2 * GATEWAY_NAME.length) return clientInfo
  return name.trim().toLowerCase() === GATEWAY_NAME
    ? { ...clientInfo, name: `a client called ${name.trim()}` }
    : clientInfo
}
