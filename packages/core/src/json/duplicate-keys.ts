import { listJsonStrings } from './json-strings.ts'
import { countMembers, type Json } from './json-value.ts'

/**
 * Whether an object in this JSON, at any depth, has the same key twice. The text must be valid JSON. Of two parsers
 * one might use the first value and the other the last (see RFC 7519, section 4, on the claims of a token).
 */
export function hasDuplicateKey(text: string): boolean {
  let names = 0
  for (const { role } of listJsonStrings(text)) if (role === 'name') names++
  return names !== countMembers(JSON.parse(text) as Json)
}
