import type { JsonMember, Span } from './envelope.ts'
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-bytes.ts'

// These functions walk through text that is known to be valid JSON. They check and build nothing, and accept any depth.

export function skipSpace(text: string, from: number): number {
  let at = from
  for (;;) {
    const code = text.charCodeAt(at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at
    at++
  }
}

/** The position after the closing quote: the first quote with an even number of backslashes before it. */
export function stringEnd(text: string, quote: number): number {
  let at = text.indexOf('"', quote + 1)
  while (at >= 0 && isEscaped(text, at)) at = text.indexOf('"', at + 1)
  return at < 0 ? text.length : at + 1
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (text.charCodeAt(before) === BACKSLASH) before--
  return (at - before) % 2 === 0
}

/** The decoded content of a string. The span includes the quotes. */
export function readString(text: string, { start, end }: Span): string {
  const raw = text.slice(start + 1, end - 1)
  return raw.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : raw
}

/** The position after the value that begins at `from`. */
export function valueEnd(text: string, from: number): number {
  const first = text.charCodeAt(from)
  if (first === QUOTE) return stringEnd(text, from)
  return first === OPEN_OBJECT || first === OPEN_ARRAY ? nestedEnd(text, from) : scalarEnd(text, from)
}

function nestedEnd(text: string, from: number): number {
  let depth = 0
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = stringEnd(text, at) - 1
    else if (code === OPEN_OBJECT || code === OPEN_ARRAY) depth++
    else if ((code === CLOSE_OBJECT || code === CLOSE_ARRAY) && --depth === 0) return at + 1
  }
  return text.length
}

function scalarEnd(text: string, from: number): number {
  let at = from
  while (at < text.length && isScalarCharacter(text.charCodeAt(at))) at++
  return at
}

const isScalarCharacter = (code: number): boolean =>
  code > 0x20 && code !== COMMA && code !== CLOSE_ARRAY && code !== CLOSE_OBJECT && code !== COLON

export const isObjectAt = (text: string, at: number): boolean => text.charCodeAt(at) === OPEN_OBJECT

export const isListAt = (text: string, at: number): boolean => text.charCodeAt(at) === OPEN_ARRAY

export const isStringAt = (text: string, at: number): boolean => text.charCodeAt(at) === QUOTE

/**
 * Iterates over the members of an object or the items of an array, but not into them. There may be millions, so no
 * object is created for each. Any other value has no members.
 */
export class MemberCursor {
  /** Start of the key including its quotes; -1 in an array. */
  key = -1
  keyEnd = -1
  /** Start of the value. */
  start = -1
  end = -1
  readonly #text: string
  readonly #hasKeys: boolean
  #at: number

  constructor(text: string, container: number) {
    this.#text = text
    this.#hasKeys = isObjectAt(text, container)
    this.#at = this.#hasKeys || isListAt(text, container) ? skipSpace(text, container + 1) : text.length
  }

  next(): boolean {
    const text = this.#text
    let at = this.#at
    const code = text.charCodeAt(at)
    if (at >= text.length || code === CLOSE_OBJECT || code === CLOSE_ARRAY) return false
    if (this.#hasKeys) {
      this.key = at
      this.keyEnd = stringEnd(text, at)
      at = skipSpace(text, skipSpace(text, this.keyEnd) + 1)
    }
    this.start = at
    this.end = valueEnd(text, at)
    at = skipSpace(text, this.end)
    this.#at = text.charCodeAt(at) === COMMA ? skipSpace(text, at + 1) : at
    return true
  }
}

/** The same as objects. An item of an array has an empty key. */
export function* listMembers(text: string, container: number): Generator<JsonMember> {
  for (const cursor = new MemberCursor(text, container); cursor.next(); ) {
    const { key, keyEnd, start: value, end } = cursor
    if (key < 0) yield { key: '', start: value, value, end }
    else yield { key: readString(text, { start: key, end: keyEnd }), start: key, value, end }
  }
}

/**
 * Whether the text is nested deeper than `levels`. It need not be valid JSON: this check comes before parsing, since
 * each level of a parsed value takes far more memory than its two brackets.
 */
export function isJsonDeeperThan(text: string, levels: number): boolean {
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = stringEnd(text, at) - 1
    else if ((code === OPEN_OBJECT || code === OPEN_ARRAY) && ++depth > levels) return true
    else if (code === CLOSE_OBJECT || code === CLOSE_ARRAY) depth--
  }
  return false
}

/** All numbers, wherever they are. */
export function* listNumbers(text: string): Generator<Span> {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) at = stringEnd(text, at) - 1
    else if (isDigit(code) || code === MINUS) {
      const start = at
      while (continuesNumber(text.charCodeAt(at + 1))) at++
      yield { start, end: at + 1 }
    }
  }
}

const MINUS = 0x2d
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39

/** Digits, signs, the point and the exponent. */
const continuesNumber = (code: number): boolean =>
  isDigit(code) || code === MINUS || code === 0x2b || code === 0x2e || code === 0x65 || code === 0x45
