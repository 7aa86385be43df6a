import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import type { Frame } from '../transport.ts'
import { sliceBytes } from './splice.ts'

/** What a claim may have in bytes: a label with fifty names needs a tenth of it. */
const MAX_CLAIM_BYTES = 200_000

/**
 * What a server says to the gateway in the `_meta` of its answer, by key (`sallyport/…`); `undefined` if it says
 * nothing. A claim that is too long, or that is made twice, is `null`: nobody knows what it means. Whether a claim
 * counts depends on the server's entry.
 */
export function readServerClaims({ parts, envelope }: Frame): JsonObject | undefined {
  const { reservedMembers } = envelope
  if (reservedMembers === undefined) return undefined
  const claims = new Map<string, Json>()
  for (const { start, end } of reservedMembers) {
    const isShort = end - start <= MAX_CLAIM_BYTES
    const text = sliceBytes(parts, start, isShort ? end : start + MAX_KEY_BYTES).toString('utf8')
    const member = isShort ? parseMember(text) : { [keyOf(text)]: null }
    for (const [key, value] of Object.entries(member)) claims.set(key, claims.has(key) ? null : (value ?? null))
  }
  return Object.fromEntries(claims)
}

const MAX_KEY_BYTES = 200

function parseMember(text: string): JsonObject {
  const parsed: unknown = JSON.parse(`{${text}}`)
  return isJsonObject(parsed) ? parsed : {}
}

/** The key at the beginning of a member; of a key that is cut off, what is there. */
function keyOf(text: string): string {
  const quoted = /^"(?:[^"\\]|\\.)*"/s.exec(text)?.[0]
  return quoted === undefined ? text : String(JSON.parse(quoted))
}
