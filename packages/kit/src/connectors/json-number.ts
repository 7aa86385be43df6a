import { jsonTextEnd } from './json-place.ts'

const DIGITS_ALWAYS_KEPT = 15

/** A number as it stands in a text. */
export interface NumberPlace {
  readonly start: number
  readonly end: number
}

/** The numbers in proven JSON that would become others when they are read: too long for a double, or too large. */
export function* findInexact(text: string): Generator<NumberPlace> {
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === 0x22) at = jsonTextEnd(text, at)
    else if (isNumberCode(code)) {
      const start = at
      while (at < text.length && isNumberCode(text.charCodeAt(at))) at++
      if (!isExact(text.slice(start, at))) yield { start, end: at }
    } else at++
  }
}

/** Digits, signs, the point and the exponent; an `e` of true or false stands for itself and is no number. */
const isNumberCode = (code: number): boolean =>
  (code >= 0x30 && code <= 0x39) || code === 0x2d || code === 0x2b || code === 0x2e || code === 0x65 || code === 0x45

function isExact(source: string): boolean {
  if (!/\d/.test(source)) return true
  if (source.length <= DIGITS_ALWAYS_KEPT && !/e/i.test(source)) return true
  const value = Number(source)
  return Number.isFinite(value) && significant(String(value)) === significant(source)
}

/** The digits that count and where the point is: the same for 1.50e2 and 150. */
function significant(source: string): string {
  const [mantissa = '', exponent = '0'] = source.toLowerCase().replace(/^-/, '').split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const digits = (whole + fraction).replace(/^0+/, '')
  if (digits === '') return '0'
  const leading = (whole + fraction).length - digits.length
  return `${digits.replace(/0+$/, '')}e${Number(exponent) + whole.length - leading}`
}

/** The same JSON with such numbers as texts. */
export function quoteInexact(text: string): string {
  let out = ''
  let from = 0
  for (const { start, end } of findInexact(text)) {
    out += `${text.slice(from, start)}"${text.slice(start, end)}"`
    from = end
  }
  return from === 0 ? text : out + text.slice(from)
}
