import { listJsonStrings } from './json-strings.ts'
import { countMembers, type Json } from './json-value.ts'

/**
 * Whether an object of this JSON, at whatever depth, has the same name twice. The text must be valid JSON. Of two readers
 * of such an object one might take the first value and the other the last (RFC 7519, 4 for the claims of a token).
 */
export function hasDuplicateKey(text: string): boolean {
  let names = 0
  for (const { role } of listJsonStrings(text)) if (role === 'name') names++
  return names !== countMembers(JSON.parse(text) as Json)
}
