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

/** The value that a text holds; undefined where it holds none. */
export function tryParseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

/** Whether it is nested deeper than so many levels. It is looked into no further than that. */
export function isDeeperThan(value: Json | undefined, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  for (const key in value) if (isDeeperThan((value as Readonly<Record<string, Json>>)[key], levels - 1)) return true
  return false
}

/** Whether it is made of more than so many values, itself among them. It is looked into no further than that. */
export function hasMoreValues(value: Json | undefined, parts: number): boolean {
  return partsLeft(value, parts) < 0
}

function partsLeft(value: Json | undefined, parts: number): number {
  let left = parts - 1
  if (typeof value !== 'object' || value === null) return left
  for (const key in value) {
    if (left < 0) return left
    left = partsLeft((value as Readonly<Record<string, Json>>)[key], left)
  }
  return left
}

/** How many members all of its objects have. */
export function countMembers(value: Json): number {
  let count = 0
  // Not by recursion: what was read without one may be nested deeper than the stack.
  const waiting: (Json | undefined)[] = [value]
  while (waiting.length > 0) {
    const next = waiting.pop()
    if (typeof next !== 'object' || next === null) continue
    const parts = Object.values(next)
    if (!Array.isArray(next)) count += parts.length
    for (const part of parts) if (typeof part === 'object') waiting.push(part)
  }
  return count
}
