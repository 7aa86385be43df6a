import type { JsonMember, Span } from './envelope.ts'
import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, COLON, COMMA, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from './json-bytes.ts'

// All of this goes through text that is known to be JSON: nothing is judged or built, and no nesting is too deep.

export function skipSpace(text: string, from: number): number {
  let at = from
  for (;;) {
    const code = text.charCodeAt(at)
    if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return at
    at++
  }
}

/** Behind the quotation mark that ends the text: the first one with an even number of backslashes before it. */
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

/** What the text says that stands there with its quotation marks. */
export function readString(text: string, { start, end }: Span): string {
  const written = text.slice(start + 1, end - 1)
  return written.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : written
}

/** Behind the value that begins there. */
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
 * Goes through what an object or an array holds, without going into it: there may be millions, so that no object is made
 * for each. Nothing else holds anything.
 */
export class MemberCursor {
  /** Of the key, with its quotation marks; -1 in an array. */
  key = -1
  keyEnd = -1
  /** Of the value. */
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

/** The same as objects; an item has no key and begins with its value. */
export function* listMembers(text: string, container: number): Generator<JsonMember> {
  for (const cursor = new MemberCursor(text, container); cursor.next(); ) {
    const { key, keyEnd, start: value, end } = cursor
    if (key < 0) yield { key: '', start: value, value, end }
    else yield { key: readString(text, { start: key, end: keyEnd }), start: key, value, end }
  }
}

/**
 * Whether it is nested deeper than so many levels. The text need not be proven: this is asked before it is parsed, since
 * each level of a value takes far more memory than its two brackets.
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
