import { ANCHOR_WINDOW, type Anchor, anchorsOf, shiftTable } from './anchor-table.ts'
import { SECRET_SHAPES, type SecretShape } from './secret-shapes.ts'

export interface AnchorPlace {
  readonly at: number
  readonly shapes: readonly SecretShape[]
}

const NEAR_LENGTH = 48
/** What must be seen of the text around a seam so that nothing which lies across it is missed. */
const SEAM = 256

/**
 * Letters, digits and a little more may stand in JSON as the number of their character. Texts that do so are rare, and
 * are looked at more closely whatever they say.
 */
const ESCAPED: Anchor = {
  low: '\\u00',
  high: '\\u00',
  isWhole: false,
  end: 4,
  near: /^(?:2[0bdef]|3[0-9ad]|4[0-9a-f]|5[0-9af]|6[0-9a-f]|7[0-9a])/i,
  shapes: [],
}

const ANCHORS = anchorsOf(SECRET_SHAPES)
const TEXT_TABLE = shiftTable(ANCHORS)
const BYTE_TABLE = shiftTable([...ANCHORS, ESCAPED])

/** Every place of a text where a secret may begin, in order. */
export function anchorPlaces(text: string): readonly AnchorPlace[] {
  const { shifts, byEnd } = TEXT_TABLE
  const { length } = text
  let places: AnchorPlace[] | undefined
  for (let at = ANCHOR_WINDOW - 2; at < length; ) {
    const pair = ((text.charCodeAt(at - 1) & 0xff) << 8) | (text.charCodeAt(at) & 0xff)
    const shift = shifts[pair] as number
    at += shift === 0 ? 1 : shift
    if (shift !== 0) continue
    for (const anchor of byEnd.get(pair) ?? []) {
      const start = at - anchor.end
      if (!isInText(anchor, text, start) || (anchor.isWhole && !beginsWord(text, start))) continue
      places ??= []
      places.push({ at: start, shapes: anchor.shapes })
    }
  }
  return places ?? NOWHERE
}

const NOWHERE: readonly AnchorPlace[] = Object.freeze([])

/** Whether JSON in these pieces may hold a secret: a quick look that errs on the side of yes. */
export function mayHoldSecret(parts: readonly Uint8Array[]): boolean {
  let tail: Uint8Array | undefined
  for (const part of parts) {
    if (tail !== undefined && hasAnchor(joined(tail, part.subarray(0, SEAM)))) return true
    if (hasAnchor(part)) return true
    if (parts.length > 1) tail = (tail === undefined || part.length >= SEAM ? part : joined(tail, part)).subarray(-SEAM)
  }
  return false
}

function hasAnchor(bytes: Uint8Array): boolean {
  const { shifts, byEnd } = BYTE_TABLE
  const { length } = bytes
  for (let at = ANCHOR_WINDOW - 2; at < length; ) {
    const pair = ((bytes[at - 1] as number) << 8) | (bytes[at] as number)
    const shift = shifts[pair] as number
    if (shift !== 0) at += shift
    else if (isAnchored(bytes, ++at, byEnd.get(pair) ?? [])) return true
  }
  return false
}

function isAnchored(bytes: Uint8Array, at: number, anchors: readonly Anchor[]): boolean {
  for (const anchor of anchors) {
    const start = at - anchor.end
    if (!isInBytes(anchor, bytes, start) || (anchor.isWhole && !isWordStart(bytes, start))) continue
    const end = start + anchor.low.length
    if (anchor.near === undefined || anchor.near.test(latin1(bytes, end, end + NEAR_LENGTH))) return true
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
  if (start < 0) return false
  for (let at = 0; at < low.length; at++) {
    const code = bytes[start + at]
    if (code !== low.charCodeAt(at) && code !== high.charCodeAt(at)) return false
  }
  return true
}

const WORD = /[\w-]/
/** What ends in a letter or a digit and yet is none: an escape, a character of a URL, a colour. */
const ESCAPE_BEFORE = /(?:\\[nrtbfv0]|\\u[0-9a-f]{4}|\\x[0-9a-f]{2}|%[0-9a-f]{2}|\[[\d;]{0,8}m)$/i
const LONGEST_ESCAPE = 12

/** A key does not begin within a word. That leaves base64 alone, but for its two signs. */
function beginsWord(text: string, start: number): boolean {
  const before = text[start - 1]
  if (before === undefined) return true
  if (WORD.test(before)) return ESCAPE_BEFORE.test(text.slice(Math.max(0, start - LONGEST_ESCAPE), start))
  return (before !== '+' && before !== '/') || !endsBlob(text.slice(Math.max(0, start - BLOB_LENGTH), start))
}

const BLOB_LENGTH = 64

/** Whether so much of what came before can only be base64. */
function endsBlob(text: string): boolean {
  if (text.length < BLOB_LENGTH || !/^[A-Za-z0-9+/]+$/.test(text)) return false
  return /[0-9]/.test(text) && /[A-Z]/.test(text) && /[a-z]/.test(text)
}

function isWordStart(bytes: Uint8Array, start: number): boolean {
  const before = latin1(bytes, Math.max(0, start - BLOB_LENGTH), start)
  return beginsWord(before, before.length)
}

const latin1 = (bytes: Uint8Array, from: number, to: number): string =>
  String.fromCharCode.apply(undefined, bytes.subarray(from, to) as unknown as number[])

function joined(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length)
  both.set(a)
  both.set(b, a.length)
  return both
}
