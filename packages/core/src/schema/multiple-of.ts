/**
 * Whether a number is a multiple of a step in decimal notation: 0.3 is one of 0.1, though not in binary floating point.
 */
export function isMultipleOf(value: number, step: number): boolean {
  if (!Number.isFinite(value) || !Number.isFinite(step) || step === 0) return false
  if (Number.isSafeInteger(value) && Number.isSafeInteger(step)) return value % step === 0
  const left = toDecimal(value)
  const right = toDecimal(step)
  const exponent = Math.min(left.exponent, right.exponent)
  return scaled(left, exponent) % scaled(right, exponent) === 0n
}

interface Decimal {
  readonly digits: bigint
  readonly exponent: number
}

/** The shortest decimal that parses to this number: most likely what a person wrote. */
function toDecimal(value: number): Decimal {
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e')
  const [whole = '0', fraction = ''] = mantissa.split('.')
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length }
}

const scaled = ({ digits, exponent }: Decimal, to: number): bigint => digits * 10n ** BigInt(exponent - to)
