import { hasDuplicateKey, isGatewayKey, isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import type { Frame } from '../transport.ts'
import { sliceBytes } from './splice.ts'

/** What a claim may have in bytes: a label with fifty names needs a tenth of it. */
const MAX_CLAIM_BYTES = 200_000

/**
 * What a server says to the gateway in the `_meta` of its answer, by key (`sallyport/…`); `undefined` if it says
 * nothing. A claim that is too long, that is made twice, or that has a member twice is `null`: nobody knows what it
 * means. Whether a claim counts depends on the server's entry.
 */
export function readServerClaims({ parts, envelope }: Frame): JsonObject | undefined {
  const { reservedMembers } = envelope
  if (reservedMembers === undefined) return undefined
  const claims = new Map<string, Json>()
  for (const { start, end } of reservedMembers) {
    const isShort = end - start <= MAX_CLAIM_BYTES
    const text = sliceBytes(parts, start, isShort ? end : start + MAX_KEY_BYTES).toString('utf8')
    const member = isShort ? parseMember(text) : { [parseKey(text)]: null }
    for (const [key, value] of Object.entries(member)) claims.set(key, claims.has(key) ? null : (value ?? null))
  }
  return Object.fromEntries(claims)
}

const MAX_KEY_BYTES = 200

/** The same for a question, which is parsed in any case. Only its own `_meta` counts: the rest is text for the client. */
export function readQuestionClaims(question: JsonObject, { parts }: Pick<Frame, 'parts'>): JsonObject | undefined {
  const meta = isJsonObject(question.params) ? question.params._meta : undefined
  const claims = isJsonObject(meta) ? Object.entries(meta).filter(([key]) => isGatewayKey(key)) : []
  if (claims.length === 0) return undefined
  const isClear = !hasDuplicateKey(Buffer.concat(parts).toString('utf8'))
  return Object.fromEntries(claims.map(([key, claim]) => [key, isClear ? claim : null]))
}

function parseMember(text: string): JsonObject {
  const member = `{${text}}`
  if (hasDuplicateKey(member)) return { [parseKey(text)]: null }
  const parsed: unknown = JSON.parse(member)
  return isJsonObject(parsed) ? parsed : {}
}

/** The key at the beginning of a member; of a key that is cut off, what is there. */
function parseKey(text: string): string {
  const quoted = /^"(?:[^"\\]|\\.)*"/s.exec(text)?.[0]
  return quoted === undefined ? text : String(JSON.parse(quoted))
}
