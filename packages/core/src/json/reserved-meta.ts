import { META } from '../protocol.ts'
import { isJsonObject, type Json, type JsonObject } from './json-value.ts'

export const META_KEY = '_meta'
const GATEWAY_PREFIX = 'sallyport/'
/** Members that contain data of a tool or a caller: a `_meta` inside is data too. */
const DATA_KEYS: ReadonlySet<string> = new Set(['structuredContent', 'arguments', 'inputSchema', 'outputSchema'])

/** Keys of `_meta` that only the gateway may send, because clients trust them. */
export const isGatewayKey = (key: string): boolean => key.startsWith(GATEWAY_PREFIX)

/** Keys of `_meta` that only the gateway may set: its own keys, and who the server is. */
const isReservedKey = (key: string): boolean => isGatewayKey(key) || key === META.serverInfo

/** Removes the reserved keys from every `_meta`. Returns the same value if there are none. */
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

/** Removes the reserved keys from one `_meta`. */
function dropReservedKeys(meta: JsonObject): JsonObject {
  let found = false
  for (const key in meta) found ||= isReservedKey(key)
  return found ? Object.fromEntries(Object.entries(meta).filter(([key]) => !isReservedKey(key))) : meta
}

/** Removes the reserved keys from the `_meta` of a client, and sanitizes its name. */
export function sanitizeClientMeta(meta: JsonObject): JsonObject {
  const clean = dropReservedKeys(meta)
  const info = clean[META.clientInfo]
  const named = sanitizeClientInfo(info)
  return named === info ? clean : { ...clean, [META.clientInfo]: named }
}

const GATEWAY_NAME = 'sallyport'

/** Changes the name of a client that calls itself by the gateway's name, so that servers do not confuse them. */
export function sanitizeClientInfo(clientInfo: Json | undefined): Json | undefined {
  const name = isJsonObject(clientInfo) ? clientInfo.name : undefined
  if (!isJsonObject(clientInfo) || typeof name !== 'string' || name.length > 2 * GATEWAY_NAME.length) return clientInfo
  return name.trim().toLowerCase() === GATEWAY_NAME
    ? { ...clientInfo, name: `a client called ${name.trim()}` }
    : clientInfo
}
