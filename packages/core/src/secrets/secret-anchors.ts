import { SECRET_SHAPES, type SecretShape } from './secret-shapes.ts'
import { createTrigramSearch, type TrigramSearch } from './trigram-search.ts'
import { type Anchor, buildAnchors, hashTrigram, IS_FIRST, IS_LAST, TrigramTable, toPair } from './trigram-table.ts'

export interface AnchorMatch {
  readonly at: number
  readonly shapes: readonly SecretShape[]
}

const LOOKAHEAD_LENGTH = 48
/** The overlap of two chunks that is searched again, so that no secret across their border is missed. */
const OVERLAP = 256

/**
 * JSON may contain letters, digits and some other characters as `\u00…` escapes. Such texts are rare, and always get a
 * full check.
 */
const ESCAPED: Anchor = {
  low: '\\u00',
  high: '\\u00',
  mustStartWord: false,
  lookahead: /^(?:2[0bdef]|3[0-9ad]|4[0-9a-f]|5[0-9af]|6[0-9a-f]|7[0-9a])/i,
  shapes: [],
}

const TABLE = new TrigramTable()
/** From this length on, copying the bytes for the faster search pays off. */
const LONG = 256
let longSearch: TrigramSearch | undefined | 'unopened' = 'unopened'

/** Fills the table on first use: not every program searches for secrets. */
function fillTable(): void {
  if (TABLE.isEmpty) for (const anchor of [...buildAnchors(SECRET_SHAPES), ESCAPED]) TABLE.add(anchor)
}

/** All positions in this part of a text where a secret may begin, in order. */
export function findAnchors(text: string, from = 0, to: number = text.length): readonly AnchorMatch[] {
  fillTable()
  const { roles } = TABLE
  const last = Math.min(to, text.length - 1)
  const matches: AnchorMatch[] = []
  for (let at = from; at < last; at += 2) {
    const pair = ((text.charCodeAt(at) & 0xff) << 8) | (text.charCodeAt(at + 1) & 0xff)
    const role = roles[pair] as number
    if (role !== 0 && hasTrigramInText(text, at, role)) addMatches(text, at, matches)
  }
  return matches.length < 2 ? matches : matches.sort((a, b) => a.at - b.at)
}

function hasTrigramInText(text: string, at: number, role: number): boolean {
  const { trigrams } = TABLE
  const a = text.charCodeAt(at)
  const b = text.charCodeAt(at + 1)
  if ((role & IS_FIRST) !== 0 && trigrams[hashTrigram(a, b, text.charCodeAt(at + 2))] === 1) return true
  return (role & IS_LAST) !== 0 && trigrams[hashTrigram(text.charCodeAt(at - 1), a, b)] === 1
}

function addMatches(text: string, at: number, matches: AnchorMatch[]): void {
  for (const { anchor, offset } of TABLE.findUses(toPair(text.charCodeAt(at), text.charCodeAt(at + 1)))) {
    const start = at - offset
    if (isInText(anchor, text, start) && (!anchor.mustStartWord || startsWordInText(text, start)))
      matches.push({ at: start, shapes: anchor.shapes })
  }
}

/** A quick check whether JSON in these chunks may contain a secret. It has false positives, but no false negatives. */
export function mayHoldSecret(parts: readonly Uint8Array[]): boolean {
  const [only] = parts
  if (parts.length === 1 && only !== undefined) {
    fillTable()
    return hasAnchor(only)
  }
  return parts.some(createSecretSearch())
}

/** The same, one chunk at a time: a secret may be in this chunk or across its border with the previous ones. */
export function createSecretSearch(): (part: Uint8Array) => boolean {
  fillTable()
  let tail: Uint8Array | undefined
  return (part) => {
    if (tail !== undefined && hasAnchor(joined(tail, part.subarray(0, OVERLAP)))) return true
    if (hasAnchor(part)) return true
    tail = (tail === undefined || part.length >= OVERLAP ? part : joined(tail, part)).subarray(-OVERLAP)
    return false
  }
}

/** Runs over every byte of every answer, so it must be fast. */
function hasAnchor(bytes: Uint8Array): boolean {
  if (bytes.length < LONG) return hasAnchorInWords(bytes)
  if (longSearch === 'unopened') longSearch = createTrigramSearch(TABLE)
  return longSearch?.(bytes, hasAnchorAt) ?? hasAnchorInWords(bytes)
}

/** Reads four bytes at once, twice per round. */
function hasAnchorInWords(bytes: Uint8Array): boolean {
  const roles = TABLE.wordRoles
  const pad = -bytes.byteOffset & 3
  const count = (bytes.length - pad) >> 3
  if (count <= 0) return hasAnchorWithin(bytes, 0, bytes.length)
  if (hasAnchorWithin(bytes, pad & 1, pad)) return true
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + pad, count << 1)
  for (let word = 0; word < words.length; word += 2) {
    const a = words[word] as number
    const b = words[word + 1] as number
    const first = (roles[a & 0xffff] as number) | (roles[a >>> 16] as number)
    const second = (roles[b & 0xffff] as number) | (roles[b >>> 16] as number)
    const at = pad + (word << 2)
    if ((first | second) !== 0 && hasAnchorWithin(bytes, at, at + 8)) return true
  }
  return hasAnchorWithin(bytes, pad + (count << 3), bytes.length)
}

function hasAnchorWithin(bytes: Uint8Array, from: number, to: number): boolean {
  const { roles } = TABLE
  for (let at = from; at + 1 < to; at += 2) {
    const role = roles[((bytes[at] as number) << 8) | (bytes[at + 1] as number)] as number
    if (role !== 0 && hasTrigramInBytes(bytes, at, role) && hasAnchorAt(bytes, at)) return true
  }
  return false
}

function hasTrigramInBytes(bytes: Uint8Array, at: number, role: number): boolean {
  const { trigrams } = TABLE
  const a = bytes[at] as number
  const b = bytes[at + 1] as number
  // In this order: one read beyond the end would make every later read slower.
  if ((role & IS_FIRST) !== 0 && at + 2 < bytes.length && trigrams[hashTrigram(a, b, bytes[at + 2] as number)] === 1)
    return true
  return (role & IS_LAST) !== 0 && at > 0 && trigrams[hashTrigram(bytes[at - 1] as number, a, b)] === 1
}

function hasAnchorAt(bytes: Uint8Array, at: number): boolean {
  for (const { anchor, offset } of TABLE.findUses(toPair(bytes[at] as number, bytes[at + 1] as number))) {
    const start = at - offset
    if (!isInBytes(anchor, bytes, start) || (anchor.mustStartWord && !startsWordInBytes(bytes, start))) continue
    const end = start + anchor.low.length
    if (anchor.lookahead === undefined || anchor.lookahead.test(latin1(bytes, end, end + LOOKAHEAD_LENGTH))) return true
  }
  return false
}

function isInText({ low, high }: Anchor, text: string, start: number): boolean {
  if (start < 0) return false
  for (let at = 0; at < low.length; at++) {
    const code = text.charCodeAt(start + at)
    if (code !== low.charCodeAt(at) && code !== high.charCodeAt(at)) return false
  }
  return true
}

function isInBytes({ low, high }: Anchor, bytes: Uint8Array, start: number): boolean {
  if (start < 0 || start + low.length > bytes.length) return false
  for (let at = 0; at < low.length; at++) {
    const code = bytes[start + at]
    if (code !== low.charCodeAt(at) && code !== high.charCodeAt(at)) return false
  }
  return true
}

const WORD = /[A-Za-z0-9]/
/** Escapes that end in a letter or a digit but are not part of a word: of JSON, of a URL, of a terminal color. */
const ESCAPE_BEFORE = /(?:\\[nrtbfv0]|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|%[0-9a-f]{2}|\[[\d;]{0,8}m)$/i
const MAX_ESCAPE_LENGTH = 12

/** A key does not begin inside a word. This excludes base64, except after its `+/-_`, which is checked separately. */
function startsWordInText(text: string, start: number): boolean {
  const before = text[start - 1]
  if (before === undefined) return true
  if (WORD.test(before)) return ESCAPE_BEFORE.test(text.slice(Math.max(0, start - MAX_ESCAPE_LENGTH), start))
  return !'+/-_'.includes(before) || !looksLikeBase64(text.slice(Math.max(0, start - BASE64_LENGTH), start))
}

const BASE64_LENGTH = 64

/** Whether the text before is long enough to be sure that it is base64. */
function looksLikeBase64(text: string): boolean {
  if (text.length < BASE64_LENGTH || !/^[\w+/-]+$/.test(text)) return false
  return /[0-9]/.test(text) && /[A-Z]/.test(text) && /[a-z]/.test(text)
}

function startsWordInBytes(bytes: Uint8Array, start: number): boolean {
  if (start === 0) return true
  // Nearly all are inside a word, and then a few characters are enough.
  const isWithinWord = WORD.test(String.fromCharCode(bytes[start - 1] as number))
  const length = isWithinWord ? MAX_ESCAPE_LENGTH : BASE64_LENGTH
  const before = latin1(bytes, Math.max(0, start - length), start)
  return startsWordInText(before, before.length)
}

const latin1 = (bytes: Uint8Array, from: number, to: number): string =>
  String.fromCharCode.apply(undefined, bytes.subarray(from, to) as unknown as number[])

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}
