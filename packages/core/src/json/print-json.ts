import { isDeeperThan, type Json, type JsonObject } from './json-value.ts'

const printedCache = new WeakMap<JsonObject, string>()

/** Keeps the text of an object that many messages share. Nobody can change it from then on: it would no longer be its text. */
export function cachePrinted(value: JsonObject, text: string): void {
  freeze(value)
  printedCache.set(value, text)
}

/** An object as JSON, without printing it where its text is kept. */
export function printJson(value: JsonObject): string {
  return printedCache.get(value) ?? JSON.stringify(value)
}

/** Deeper than this, indentation alone would push values out of view. */
const MAX_INDENTED_DEPTH = 20

/** A value as JSON for a person who has to read all of it: a line for each member, unless it is nested too deep for that. */
export function prettyPrintJson(value: Json): string {
  return isDeeperThan(value, MAX_INDENTED_DEPTH) ? JSON.stringify(value) : JSON.stringify(value, undefined, 2)
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const member of Object.values(Object.freeze(value))) freeze(member)
}
