import { isJsonObject, type Json, type JsonObject } from './json-value.ts'

/** The same string for equal values: the order of members does not matter. */
export function canonicalJson(value: Json): string {
  const sorted = sortMembers(value)
  return sorted === undefined ? printSorted(value) : JSON.stringify(sorted)
}

/**
 * A copy with sorted members, so that the fast `JSON.stringify` can print it: startup prints thousands of definitions.
 * `undefined` if an object cannot preserve the sorted order.
 */
function sortMembers(value: Json): Json | undefined {
  if (Array.isArray(value)) return sortWithinItems(value)
  if (!isJsonObject(value)) return value
  const sorted: Record<string, Json> = {}
  for (const key of sortedKeys(value)) {
    const member = value[key]
    if (member === undefined) continue
    const inner = keepsInsertionOrder(key) ? sortMembers(member) : undefined
    if (inner === undefined) return undefined
    sorted[key] = inner
  }
  return sorted
}

/** Objects move numeric keys to the front, and assigning to `__proto__` adds no member. */
const keepsInsertionOrder = (key: string): boolean => !startsWithDigit(key) && key !== '__proto__'

function startsWithDigit(key: string): boolean {
  const first = key.charCodeAt(0)
  return first >= 0x30 && first <= 0x39
}

function sortedKeys(value: JsonObject): readonly string[] {
  const keys = Object.keys(value)
  for (let at = 1; at < keys.length; at++) if ((keys[at - 1] as string) > (keys[at] as string)) return keys.sort()
  return keys
}

function sortWithinItems(items: readonly Json[]): Json | undefined {
  const sorted: Json[] = []
  for (const item of items) {
    const inner = sortMembers(item)
    if (inner === undefined) return undefined
    sorted.push(inner)
  }
  return sorted
}

function printSorted(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(printSorted).join(',')}]`
  return isJsonObject(value) ? printMembers(value) : JSON.stringify(value)
}

function printMembers(value: JsonObject): string {
  const keys = Object.keys(value).filter((key) => value[key] !== undefined)
  const members = keys.sort().map((key) => `${JSON.stringify(key)}:${printSorted(value[key] as Json)}`)
  return `{${members.join(',')}}`
}
