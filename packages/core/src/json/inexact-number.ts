import type { Span } from './envelope.ts'
import { listNumbers } from './json-walk.ts'

/** A double represents every number with at most this many digits. */
const SAFE_DIGITS = 15

/** Whether the JSON has a number that changes when it is parsed and printed again. */
export const hasInexactNumber = (json: string): boolean => listInexactNumbers(json).next().done === false

/** Numbers that have too many digits for a double, or are too large. */
function* listInexactNumbers(json: string): Generator<Span> {
  for (const number of listNumbers(json)) if (isInexact(json.slice(number.start, number.end))) yield number
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

const EXPONENT = /[eE]/

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
