import { isDeeperThan, type Json, type JsonObject } from './json-value.ts'

const printedCache = new WeakMap<JsonObject, string>()

/** Caches the JSON text of an object that many messages share. Freezes the object, so that the text stays correct. */
export function cachePrinted(value: JsonObject, text: string): void {
  freeze(value)
  printedCache.set(value, text)
}

/** Returns the cached JSON text of an object, or prints it. */
export function printJson(value: JsonObject): string {
  return printedCache.get(value) ?? JSON.stringify(value)
}

/** Below this depth the indentation alone would push values out of view. */
const MAX_INDENTED_DEPTH = 20

/** JSON for a person: one line per member, unless the value is nested too deep for that. */
export function prettyPrintJson(value: Json): string {
  return isDeeperThan(value, MAX_INDENTED_DEPTH) ? JSON.stringify(value) : JSON.stringify(value, undefined, 2)
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const member of Object.values(Object.freeze(value))) freeze(member)
}
