import type { JsonObject } from './json.ts'

const texts = new WeakMap<JsonObject, string>()

/** Keeps the text of an object that many messages share. Nobody can change it from then on: it would no longer be its text. */
export function keepPrinted(value: JsonObject, text: string): void {
  freeze(value)
  texts.set(value, text)
}

/** An object as JSON, without printing it where its text is kept. */
export function printJson(value: JsonObject): string {
  return texts.get(value) ?? JSON.stringify(value)
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null) return
  for (const member of Object.values(Object.freeze(value))) freeze(member)
}
