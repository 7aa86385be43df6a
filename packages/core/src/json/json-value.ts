/** Any value that JSON can carry. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject

export interface JsonObject {
  readonly [key: string]: Json | undefined
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function isJsonList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value)
}

/** The parsed value; `undefined` if the text is not valid JSON. */
export function tryParseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** Whether a value is nested deeper than `levels`. Looks no deeper than that. */
export function isDeeperThan(value: Json | undefined, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const key in value) if (isDeeperThan((value as Readonly<Record<string, Json>>)[key], levels - 1)) return true
  return false
}

/** Whether a value consists of more than `max` values, including itself. Stops counting there. */
export function hasMoreValues(value: Json | undefined, max: number): boolean {
  return countDown(value, max) < 0
}

function countDown(value: Json | undefined, max: number): number {
  let left = max - 1
  if (typeof value !== 'object' || value === null) return left
  for (const key in value) {
    if (left < 0) return left
    left = countDown((value as Readonly<Record<string, Json>>)[key], left)
  }
  return left
}

/** The number of members of all objects in a value. */
export function countMembers(value: Json): number {
  let count = 0
  // Without recursion: the value may be nested deeper than the stack allows.
  const pending: (Json | undefined)[] = [value]
  while (pending.length > 0) {
    const next = pending.pop()
    if (typeof next !== 'object' || next === null) continue
    const parts = Object.values(next)
    if (!Array.isArray(next)) count += parts.length
    for (const part of parts) if (typeof part === 'object') pending.push(part)
  }
  return count
}
