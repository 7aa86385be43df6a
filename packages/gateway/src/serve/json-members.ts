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

/**
 * Goes through the members of an object, one level deep. `text` must be proven JSON, one character for each byte, so
 * that places in it are places in the bytes; `at` is where its brace stands.
 */
export function* jsonMembers(text: string, at: number): Generator<JsonMember> {
  let place = skipSpace(text, at + 1)
  while (text.charCodeAt(place) === QUOTE) {
    const keyEnd = textEnd(text, place)
    const value = skipSpace(text, skipSpace(text, keyEnd) + 1)
    const end = valueEnd(text, value)
    yield { key: keyOf(text, place, keyEnd), start: place, value, end }
    const next = skipSpace(text, end)
    place = text.charCodeAt(next) === COMMA ? skipSpace(text, next + 1) : next
  }
}

function keyOf(text: string, start: number, end: number): string {
  if (end - start > KEY_LIMIT) return ''
  const written = text.slice(start + 1, end - 1)
  return written.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : written
}

/** What is not there is no number, and so no space either. */
function skipSpace(text: string, from: number): number {
  let at = from
  while (text.charCodeAt(at) <= 0x20) at++
  return at
}

/** After the quote that ends the text which begins here: the first one with an even number of backslashes before it. */
function textEnd(text: string, from: number): number {
  let at = text.indexOf('"', from + 1)
  while (at >= 0 && isEscaped(text, at)) at = text.indexOf('"', at + 1)
  return at < 0 ? text.length : at + 1
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (text.charCodeAt(before) === BACKSLASH) before--
  return (at - before) % 2 === 0
}

function valueEnd(text: string, from: number): number {
  const first = text.charCodeAt(from)
  if (first === QUOTE) return textEnd(text, from)
  if (first === OPEN_OBJECT || first === OPEN_ARRAY) return nestedEnd(text, from)
  let at = from
  while (at < text.length && !endsScalar(text.charCodeAt(at))) at++
  return at
}

function nestedEnd(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = textEnd(text, at) - 1
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth++
    else if ((code === CLOSE_OBJECT || code === CLOSE_ARRAY) && --depth === 0) return at + 1
  }
  return text.length
}

const endsScalar = (code: number): boolean =>
  code <= 0x20 || code === COMMA || code === CLOSE_OBJECT || code === CLOSE_ARRAY
