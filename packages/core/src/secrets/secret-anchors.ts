import { SECRET_SHAPES, type SecretShape } from './secret-shapes.ts'
import { createTrigramSearch, type TrigramSearch } from './trigram-search.ts'
import { type Anchor, buildAnchors, hashTrigram, IS_FIRST, IS_LAST, TrigramTable, toPair } from './trigram-table.ts'

export interface AnchorMatch {
  readonly at: number
  readonly shapes: readonly SecretShape[]
}

const LOOKAHEAD_LENGTH = 48
/** What must be seen of the text around a seam so that nothing which lies across it is missed. */
const SEAM = 256

/**
 * Letters, digits and a little more may stand in JSON as the number of their character. Texts that do so are rare, and
 * are looked at more closely whatever they say.
 */
const ESCAPED: Anchor = {
  low: '\\u00',
  high: '\\u00',
  mustStartWord: false,
  lookahead: /^(?:2[0bdef]|3[0-9ad]|4[0-9a-f]|5[0-9af]|6[0-9a-f]|7[0-9a])/i,
  shapes: [],
}

const TABLE = new TrigramTable()
/** So long that it pays to copy it for the quicker search. */
const LONG = 256
let longSearch: TrigramSearch | undefined | 'unopened' = 'unopened'

/** Filled when it is first needed: not every program looks for secrets. */
function fillTable(): void {
  if (TABLE.isEmpty) for (const anchor of [...buildAnchors(SECRET_SHAPES), ESCAPED]) TABLE.add(anchor)
}

/** Every place where a secret may begin that shows in this part of a text, in order. */
export function findAnchors(text: string, from = 0, to: number = text.length): readonly AnchorMatch[] {
  fillTable()
  const { roles } = TABLE
  const last = Math.min(to, text.length - 1)
  const places: AnchorMatch[] = []
  for (let at = from; at < last; at += 2) {
    const pair = ((text.charCodeAt(at) & 0xff) << 8) | (text.charCodeAt(at + 1) & 0xff)
    const role = roles[pair] as number
    if (role !== 0 && hasTrigramInText(text, at, role)) addMatches(text, at, places)
  }
  return places.length < 2 ? places : places.sort((a, b) => a.at - b.at)
}

function hasTrigramInText(text: string, at: number, role: number): boolean {
  const { trigrams } = TABLE
  const a = text.charCodeAt(at)
  const b = text.charCodeAt(at + 1)
  if ((role & IS_FIRST) !== 0 && trigrams[hashTrigram(a, b, text.charCodeAt(at + 2))] === 1) return true
  return (role & IS_LAST) !== 0 && trigrams[hashTrigram(text.charCodeAt(at - 1), a, b)] === 1
}

function addMatches(text: string, at: number, places: AnchorMatch[]): void {
  for (const { anchor, offset } of TABLE.findUses(toPair(text.charCodeAt(at), text.charCodeAt(at + 1)))) {
    const start = at - offset
    if (isInText(anchor, text, start) && (!anchor.mustStartWord || startsWordInText(text, start)))
      places.push({ at: start, shapes: anchor.shapes })
  }
}

/** Whether JSON in these pieces may hold a secret: a quick look that errs on the side of yes. */
export function mayHoldSecret(parts: readonly Uint8Array[]): boolean {
  const [only] = parts
  if (parts.length === 1 && only !== undefined) {
    fillTable()
    return hasAnchor(only)
  }
  return parts.some(createSecretSearch())
}

/** The same, piece by piece: whether there may be one in this piece, or across its seam with those before. */
export function createSecretSearch(): (part: Uint8Array) => boolean {
  fillTable()
  let tail: Uint8Array | undefined
  return (part) => {
    if (tail !== undefined && hasAnchor(joined(tail, part.subarray(0, SEAM)))) return true
    if (hasAnchor(part)) return true
    tail = (tail === undefined || part.length >= SEAM ? part : joined(tail, part)).subarray(-SEAM)
    return false
  }
}

/** This is done to every byte of every answer. */
function hasAnchor(bytes: Uint8Array): boolean {
  if (bytes.length < LONG) return hasAnchorInWords(bytes)
  if (longSearch === 'unopened') longSearch = createTrigramSearch(TABLE)
  return longSearch?.(bytes, hasAnchorAt) ?? hasAnchorInWords(bytes)
}

/** Four bytes in each look, two looks at a time. */
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
  // In this order: a look beyond an end once would make every later look slower.
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
/** What ends in a letter or a digit and yet is none: an escape, a character of a URL, a colour. */
const ESCAPE_BEFORE = /(?:\\[nrtbfv0]|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|%[0-9a-f]{2}|\[[\d;]{0,8}m)$/i
const MAX_ESCAPE_LENGTH = 12

/** A key does not begin within a word. That leaves base64 alone, but for the signs among its letters. */
function startsWordInText(text: string, start: number): boolean {
  const before = text[start - 1]
  if (before === undefined) return true
  if (WORD.test(before)) return ESCAPE_BEFORE.test(text.slice(Math.max(0, start - MAX_ESCAPE_LENGTH), start))
  return !'+/-_'.includes(before) || !looksLikeBase64(text.slice(Math.max(0, start - BASE64_LENGTH), start))
}

const BASE64_LENGTH = 64

/** Whether so much of what came before can only be base64. */
function looksLikeBase64(text: string): boolean {
  if (text.length < BASE64_LENGTH || !/^[\w+/-]+$/.test(text)) return false
  return /[0-9]/.test(text) && /[A-Z]/.test(text) && /[a-z]/.test(text)
}

function startsWordInBytes(bytes: Uint8Array, start: number): boolean {
  if (start === 0) return true
  // Nearly all stand within a word, and then a few characters tell.
  const isWithinWord = WORD.test(String.fromCharCode(bytes[start - 1] as number))
  const seen = isWithinWord ? MAX_ESCAPE_LENGTH : BASE64_LENGTH
  const before = latin1(bytes, Math.max(0, start - seen), start)
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
