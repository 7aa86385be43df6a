import { isUtf8 } from 'node:buffer'
import { type Json, JsonScanner } from '@sallyport/core'

export type StrictJson = { readonly value: Json } | { readonly flaw: string }

/** Reads JSON that no two readers can take for different things. */
export function readStrictJson(bytes: Buffer): StrictJson {
  if (!isUtf8(bytes)) return { flaw: 'it is not UTF-8' }
  const scanner = new JsonScanner()
  scanner.feed(bytes)
  const envelope = scanner.end()
  if (!envelope) return { flaw: scanner.failure ?? 'it is not JSON' }
  const value = JSON.parse(bytes.toString('utf8')) as Json
  if (envelope.members !== countMembers(value)) return { flaw: 'a key stands twice in the same object' }
  if (envelope.hasUnsafeNumber) return { flaw: 'a number is too large to be kept exact: send it as a text' }
  return { value }
}

function countMembers(value: Json | undefined): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  if (Array.isArray(value)) {
    for (const item of value) count += countMembers(item)
    return count
  }
  for (const item of Object.values(value)) count += 1 + countMembers(item)
  return count
}
