import type { Span } from './envelope.ts'
import { QUOTE } from './json-bytes.ts'
import { stringEnd } from './json-walk.ts'

/** A double represents every number with at most this many digits. */
const SAFE_DIGITS = 15

/** Whether the JSON has a number that changes when it is parsed and printed again. */
export const hasInexactNumber = (json: string): boolean => listInexactNumbers(json).next().done === false

/** Numbers that have too many digits for a double, or are too large. */
function* listInexactNumbers(json: string): Generator<Span> {
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) at = stringEnd(json, at) - 1
    else if (isDigit(code) || code === MINUS) {
      const start = at
      while (continuesNumber(json.charCodeAt(at + 1))) at++
      if (isInexact(json.slice(start, at + 1))) yield { start, end: at + 1 }
    }
  }
}

/** The position of the first such number. */
export const findInexactNumber = (json: string): Span | undefined => listInexactNumbers(json).next().value ?? undefined

/** The same JSON with such numbers as strings. */
export function quoteInexactNumbers(json: string): string {
  let out = ''
  let from = 0
  for (const { start, end } of listInexactNumbers(json)) {
    out += `${json.slice(from, start)}"${json.slice(start, end)}"`
    from = end
  }
  return out + json.slice(from)
}

const MINUS = 0x2d
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39
const EXPONENT = /[eE]/

/** Digits, signs, the point and the exponent. */
const continuesNumber = (code: number): boolean =>
  isDigit(code) || code === MINUS || code === 0x2b || code === 0x2e || code === 0x65 || code === 0x45

function isInexact(token: string): boolean {
  if (token.length <= SAFE_DIGITS && !EXPONENT.test(token)) return false
  const value = Number(token)
  return !Number.isFinite(value) || normalizeDigits(token) !== normalizeDigits(String(value))
}

/** The significant digits, and the power of ten of the last one. */
function normalizeDigits(token: string): string {
  const [, sign = '', whole = '', part = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token) ?? []
  const digits = `${whole}${part}`.replace(/^0+/, '')
  const significant = digits.replace(/0+$/, '')
  if (significant === '') return '0'
  return `${sign}${significant}e${Number(power) - part.length + (digits.length - significant.length)}`
}
