import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  LETTER_U,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from './json-bytes.ts'
import { skipSpace } from './json-walk.ts'

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const LITERALS = ['true', 'false', 'null'] as const
const ESCAPED = new Set([...'"\\/bfnrt'].map((letter) => letter.charCodeAt(0)))
const FOUR_DIGITS = /[0-9a-fA-F]{4}/y

/** Whether the whole text is one JSON value. Builds nothing and accepts any depth. */
export function isJson(text: string): boolean {
  const end = jsonEnd(text, 0)
  return end >= 0 && skipSpace(text, end) === text.length
}

/** The end of the JSON value that begins at `from`; -1 if it is not valid. */
export function jsonEnd(text: string, from: number): number {
  /** For each open bracket, whether it belongs to an object. */
  const open: boolean[] = []
  let at = from
  for (;;) {
    at = enter(text, at, open)
    if (at >= 0) at = leave(text, at, open)
    if (at < 0 || open.length === 0) return at
  }
}

/** Goes down to the first scalar or empty container, and past it. */
function enter(text: string, from: number, open: boolean[]): number {
  let at = from
  for (;;) {
    at = skipSpace(text, at)
    const code = text.charCodeAt(at)
    if (code !== OPEN_OBJECT && code !== OPEN_ARRAY) return scalarEnd(text, at)
    const isObject = code === OPEN_OBJECT
    at = skipSpace(text, at + 1)
    if (text.charCodeAt(at) === closing(isObject)) return at + 1
    open.push(isObject)
    if (isObject) at = keyEnd(text, at)
    if (at < 0) return -1
  }
}

/** Goes up through closing brackets, to the next value or to the end. */
function leave(text: string, from: number, open: boolean[]): number {
  let at = from
  while (open.length > 0) {
    at = skipSpace(text, at)
    const isObject = open.at(-1) === true
    const code = text.charCodeAt(at++)
    if (code === COMMA) return isObject ? keyEnd(text, skipSpace(text, at)) : at
    if (code !== closing(isObject)) return -1
    open.pop()
  }
  return at
}

const closing = (isObject: boolean): number => (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)

function keyEnd(text: string, at: number): number {
  if (text.charCodeAt(at) !== QUOTE) return -1
  const end = checkedStringEnd(text, at)
  if (end < 0) return -1
  const colon = skipSpace(text, end)
  return text.charCodeAt(colon) === COLON ? colon + 1 : -1
}

function scalarEnd(text: string, at: number): number {
  const first = text.charCodeAt(at)
  if (first === QUOTE) return checkedStringEnd(text, at)
  const digits = first > 0x30 && first <= 0x39 ? digitsEnd(text, at + 1) : -1
  // Most numbers are integers, and a regular expression takes ten times as long for each.
  if (digits > 0 && !continuesNumber(text.charCodeAt(digits))) return digits
  const word = LITERALS.find((literal) => text.startsWith(literal, at))
  if (word !== undefined) return at + word.length
  NUMBER.lastIndex = at
  return NUMBER.test(text) ? NUMBER.lastIndex : -1
}

function digitsEnd(text: string, from: number): number {
  let at = from
  while (text.charCodeAt(at) >= 0x30 && text.charCodeAt(at) <= 0x39) at++
  return at
}

/** A decimal point or an exponent. */
const continuesNumber = (code: number): boolean => code === 0x2e || code === 0x65 || code === 0x45

function checkedStringEnd(text: string, quote: number): number {
  for (let at = quote + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code < 0x20) return -1
    if (code === BACKSLASH) at = escapeEnd(text, at) - 1
    if (at < 0) return -1
  }
  return -1
}

/** The end of the escape that begins at `backslash`; -1 if it is invalid. */
function escapeEnd(text: string, backslash: number): number {
  const letter = text.charCodeAt(backslash + 1)
  if (ESCAPED.has(letter)) return backslash + 2
  FOUR_DIGITS.lastIndex = backslash + 2
  return letter === LETTER_U && FOUR_DIGITS.test(text) ? backslash + 6 : -1
}
