import { isUtf8 } from 'node:buffer'
import { countMembers, isDeeperThan, type Json, JsonScanner, MAX_DEPTH } from '@sallyport/core'
import { MetaCache } from './meta-cache.ts'

export type StrictJson = { readonly value: Json } | { readonly flaw: string }

/** What is built of a larger message before it can be refused may weigh a hundred times as much. */
const MAX_PLAIN_BYTES = 65_536

const metaCache = new MetaCache()

/** Reads JSON that no two readers can take for different things. */
export function readStrictJson(bytes: Buffer): StrictJson {
  const text = bytes.length <= MAX_PLAIN_BYTES ? bytes.toString('utf8') : undefined
  // Decoded, everything that is not UTF-8 is this character: a text without it need not be looked through again.
  const mayBeBroken = text === undefined || text.includes('\ufffd')
  if (mayBeBroken && !isUtf8(bytes)) return { flaw: 'it is not UTF-8' }
  return (text === undefined ? undefined : readPlainJson(text)) ?? scanJson(bytes)
}

/** What comes out as it went in has no key twice and no number that a reader would change: nearly every client writes so. */
function readPlainJson(text: string): StrictJson | undefined {
  const known = metaCache.read(text)
  if (known !== undefined) return { value: known }
  try {
    const value = JSON.parse(text) as Json
    if (JSON.stringify(value) !== text || isDeeperThan(value, MAX_DEPTH)) return undefined
    metaCache.remember(value)
    return { value }
  } catch {
    return undefined
  }
}

function scanJson(bytes: Buffer): StrictJson {
  const scanner = new JsonScanner()
  scanner.feed(bytes)
  const envelope = scanner.end()
  if (!envelope) return { flaw: scanner.failure ?? 'it is not JSON' }
  const value = JSON.parse(bytes.toString('utf8')) as Json
  if (envelope.members !== countMembers(value)) return { flaw: 'a key stands twice in the same object' }
  if (envelope.hasUnsafeNumber) return { flaw: 'a number is too large to be kept exact: send it as a text' }
  return { value }
}
