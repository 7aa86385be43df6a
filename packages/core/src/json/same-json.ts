import { isJsonObject, type Json, type JsonObject } from './json-value.ts'

/** Whether two values are equal. The order of members does not matter. */
export function sameJson(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true
  if (Array.isArray(one)) return Array.isArray(other) && sameItems(one, other)
  return isJsonObject(one) && isJsonObject(other) && sameMembers(one, other)
}

// Plain loops for speed: whole catalogs are compared at every start.
function sameItems(one: readonly Json[], other: readonly Json[]): boolean {
  if (one.length !== other.length) return false
  for (let at = 0; at < one.length; at++) if (!sameJson(one[at], other[at])) return false
  return true
}

function sameMembers(one: JsonObject, other: JsonObject): boolean {
  const keys = Object.keys(one)
  if (keys.length !== Object.keys(other).length) return false
  for (const key of keys) if (!Object.hasOwn(other, key) || !sameJson(one[key], other[key])) return false
  return true
}
