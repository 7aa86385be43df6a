import { openWasmScanner } from '../text/wasm-scanner.ts'

export const QUOTE = 0x22
export const BACKSLASH = 0x5c
export const COMMA = 0x2c
export const COLON = 0x3a
export const OPEN_OBJECT = 0x7b
export const CLOSE_OBJECT = 0x7d
export const OPEN_ARRAY = 0x5b
export const CLOSE_ARRAY = 0x5d
const ZERO = 0x30
const NINE = 0x39
const MINUS = 0x2d
const DOT = 0x2e
export const LETTER_U = 0x75
export const TAB = 0x09
/** A string longer than this is handed to the faster WebAssembly scanner. */
const SHORT_STRING = 64
const MAX_ESCAPE_LENGTH = 6
/** Every parser reads integers of at most this many digits exactly. */
const EXACT_DIGITS = 15

// The classes of bytes. Inside a string, all classes below QUOTING are ordinary characters.
export const SCALAR_BYTE = 0
export const STRUCTURE = 1
export const SPACE = 2
const QUOTING = 3
export const BREAK = 4
const CONTROL = 5

const TRUE = toBytes('true')
const FALSE = toBytes('false')
const NULL = toBytes('null')

export const BYTE_CLASSES = buildClasses()
export const ESCAPES = buildEscapes()
/** 1 for bytes that a string cannot contain unescaped. */
const ENDS_RUN = BYTE_CLASSES.map((kind) => (kind >= QUOTING ? 1 : 0))

// The loops over bytes are in the same file as their tables: an imported binding would be looked up at every use.

/** The position of the first byte that ends or escapes the string, or is not allowed in it; `end` if there is none. */
export function findStringBreak(chunk: Uint8Array, from: number, end: number = chunk.length): number {
  const ends = ENDS_RUN
  let at = from
  // Four at a time: long strings are most of the input.
  for (const last = end - 3; at < last; at += 4) {
    const a = ends[chunk[at] as number] as number
    const b = ends[chunk[at + 1] as number] as number
    const c = ends[chunk[at + 2] as number] as number
    const d = ends[chunk[at + 3] as number] as number
    if ((a | b | c | d) !== 0) break
  }
  while (at < end && ends[chunk[at] as number] === 0) at++
  return at
}

/** The same for a string whose content is not needed: it also skips complete escapes. */
export function skipString(chunk: Uint8Array, from: number): number {
  const near = from + SHORT_STRING
  if (near >= chunk.length) return skipShortString(chunk, from, chunk.length)
  const at = skipShortString(chunk, from, near)
  if (at <= near - MAX_ESCAPE_LENGTH) return at
  return openWasmScanner()?.(chunk, at) ?? skipShortString(chunk, at, chunk.length)
}

export function skipShortString(chunk: Uint8Array, from: number, end: number): number {
  for (let at = from; ; ) {
    const stop = findStringBreak(chunk, at, end)
    at = escapeEnd(chunk, stop, end)
    if (at === stop) return at
  }
}

/** The end of the escape that begins at `at`; `at` itself if there is none, or if it is incomplete. */
function escapeEnd(chunk: Uint8Array, at: number, end: number): number {
  // In this order: one read beyond the end would make every later read slower.
  if (at + 1 >= end || chunk[at] !== BACKSLASH) return at
  const letter = chunk[at + 1] as number
  if (ESCAPES[letter] !== 0) return at + 2
  if (letter !== LETTER_U || at + MAX_ESCAPE_LENGTH > end) return at
  for (let digit = at + 2; digit < at + MAX_ESCAPE_LENGTH; digit++) if (hexValue(chunk[digit] as number) < 0) return at
  return at + MAX_ESCAPE_LENGTH
}

/** The end of a number or a literal. */
export function scalarEnd(chunk: Uint8Array, from: number): number {
  let at = from
  while (at < chunk.length && BYTE_CLASSES[chunk[at] as number] === SCALAR_BYTE) at++
  return at
}

/** Whether it is a literal, or a number that every parser reads alike. Builds no string. */
export function isPlainScalar(chunk: Uint8Array, from: number, end: number): boolean {
  return isPlainNumber(chunk, from, end) || isLiteral(chunk, from, end)
}

function isLiteral(chunk: Uint8Array, from: number, end: number): boolean {
  const literal = chunk[from] === TRUE[0] ? TRUE : chunk[from] === FALSE[0] ? FALSE : NULL
  if (end - from !== literal.length) return false
  for (let at = 0; at < literal.length; at++) if (chunk[from + at] !== literal[at]) return false
  return true
}

function isPlainNumber(chunk: Uint8Array, from: number, end: number): boolean {
  const first = chunk[from] === MINUS ? from + 1 : from
  const point = digitsEnd(chunk, first, end)
  if (point === first || point - first > EXACT_DIGITS) return false
  if (chunk[first] === ZERO && point > first + 1) return false
  if (point === end) return true
  return chunk[point] === DOT && point + 1 < end && digitsEnd(chunk, point + 1, end) === end
}

function digitsEnd(chunk: Uint8Array, from: number, end: number): number {
  let at = from
  while (at < end && (chunk[at] as number) >= ZERO && (chunk[at] as number) <= NINE) at++
  return at
}

export function hexValue(byte: number): number {
  if (byte >= ZERO && byte <= NINE) return byte - ZERO
  const letter = (byte | 0x20) - 0x61
  return letter >= 0 && letter < 6 ? letter + 10 : -1
}

function buildClasses(): Uint8Array {
  const classes = new Uint8Array(256).fill(SCALAR_BYTE).fill(CONTROL, 0, 0x20)
  for (const byte of [COMMA, COLON, OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY]) classes[byte] = STRUCTURE
  for (const byte of [TAB, 0x0a, 0x0d]) classes[byte] = BREAK
  classes[0x20] = SPACE
  classes[QUOTE] = QUOTING
  classes[BACKSLASH] = QUOTING
  return classes
}

/** The character that a letter after a backslash means; 0 if it means none. */
function buildEscapes(): Uint8Array {
  const escapes = new Uint8Array(256)
  for (const char of '"\\/bfnrt') escapes[char.charCodeAt(0)] = (JSON.parse(`"\\${char}"`) as string).charCodeAt(0)
  return escapes
}

export const latin1 = (bytes: Uint8Array): string => String.fromCharCode.apply(undefined, bytes as unknown as number[])

function toBytes(word: string): Uint8Array {
  return Uint8Array.from(word, (char) => char.charCodeAt(0))
}
