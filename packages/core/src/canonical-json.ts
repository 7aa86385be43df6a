import { isJsonObject, type Json } from './json.ts'

/** One text for every way to write the same value: the order of members means nothing. */
export function canonicalJson(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isJsonObject(value)) return JSON.stringify(value)
  const members = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key] as Json)}`)
  return `{${members.join(',')}}`
}
