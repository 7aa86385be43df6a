import type { JsonMember } from '@sallyport/core'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
/** A longer key is nobody's that is looked for. */
const KEY_LIMIT = 256

/** Goes through the members of an object, one level deep. `bytes` must be proven JSON; `at` is where its brace stands. */
export function* jsonMembers(bytes: Buffer, at: number): Generator<JsonMember> {
  let place = skipSpace(bytes, at + 1)
  while (bytes[place] === QUOTE) {
    const keyEnd = textEnd(bytes, place)
    const value = skipSpace(bytes, skipSpace(bytes, keyEnd) + 1)
    const end = valueEnd(bytes, value)
    yield { key: keyOf(bytes, place, keyEnd), start: place, value, end }
    const next = skipSpace(bytes, end)
    place = bytes[next] === COMMA ? skipSpace(bytes, next + 1) : next
  }
}

function keyOf(bytes: Buffer, start: number, end: number): string {
  if (end - start > KEY_LIMIT) return ''
  const written = bytes.toString('latin1', start + 1, end - 1)
  return written.includes('\\') ? (JSON.parse(bytes.toString('utf8', start, end)) as string) : written
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && (bytes[at] as number) <= 0x20) at++
  return at
}

/** After the quote that ends the text which begins here. */
function textEnd(bytes: Buffer, from: number): number {
  let at = from + 1
  // Faster than to search for quotes: a text that holds JSON is full of them.
  for (let byte = bytes[at]; byte !== QUOTE && byte !== undefined; byte = bytes[at]) at += byte === BACKSLASH ? 2 : 1
  return at + 1
}

function valueEnd(bytes: Buffer, from: number): number {
  const first = bytes[from]
  if (first === QUOTE) return textEnd(bytes, from)
  if (first === OPEN_OBJECT || first === OPEN_ARRAY) return nestedEnd(bytes, from)
  let at = from
  while (at < bytes.length && !endsScalar(bytes[at] as number)) at++
  return at
}

function nestedEnd(bytes: Buffer, from: number): number {
  let depth = 0
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) at = textEnd(bytes, at) - 1
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++
    else if ((byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) && --depth === 0) return at + 1
  }
  return bytes.length
}

const endsScalar = (byte: number): boolean =>
  byte <= 0x20 || byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY
