import { isUtf8 } from 'node:buffer'
import { countMembers, isDeeperThan, type Json, JsonScanner, MAX_DEPTH } from '@sallyport/core'
import { MetaCache } from './meta-cache.ts'
import { markExactIds } from './request-id.ts'

export type StrictJson = { readonly value: Json } | { readonly problem: string }

/** Larger messages are scanned first: parsing one that will be refused could need a hundred times its size. */
const MAX_PLAIN_BYTES = 65_536

const metaCache = new MetaCache()

/** Parses JSON that no two parsers can read differently. */
export function readStrictJson(bytes: Buffer): StrictJson {
  const text = bytes.length <= MAX_PLAIN_BYTES ? bytes.toString('utf8') : undefined
  // Decoding replaces invalid UTF-8 by this character: without it, the text is valid and needs no other check.
  const mayBeInvalid = text === undefined || text.includes('\ufffd')
  if (mayBeInvalid && !isUtf8(bytes)) return { problem: 'it is not UTF-8' }
  return (text === undefined ? undefined : readPlainJson(text)) ?? scanJson(bytes)
}

/** If printing gives the same text, there is no duplicate key and no inexact number. That is so for nearly every client. */
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

function scanJson(bytes: Buffer, ids: 'as sent' | 'marked' = 'as sent'): StrictJson {
  const scanner = new JsonScanner()
  scanner.feed(bytes)
  const envelope = scanner.end()
  if (!envelope) return { problem: scanner.failure ?? 'it is not JSON' }
  const text = bytes.toString('utf8')
  if (envelope.hasUnsafeNumber && ids === 'as sent') {
    const marked = markExactIds(text)
    if (marked !== undefined) return scanJson(Buffer.from(marked), 'marked')
  }
  const value = JSON.parse(text) as Json
  if (envelope.members !== countMembers(value)) return { problem: 'a key appears twice in the same object' }
  if (envelope.hasUnsafeNumber)
    return { problem: 'a number is too large to be represented exactly: send it as a string' }
  return { value }
}
