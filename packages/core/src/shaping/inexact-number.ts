const TOKEN = /"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g
/** Any number of so few digits survives. */
const SAFE_DIGITS = 15
const EXPONENT = /[eE]/

/** Whether JSON holds a number that another value would stand for once it is parsed and written again. */
export function hasInexactNumber(json: string): boolean {
  for (const [token] of json.matchAll(TOKEN)) if (token[0] !== '"' && isInexact(token)) return true
  return false
}

function isInexact(token: string): boolean {
  if (token.length <= SAFE_DIGITS && !EXPONENT.test(token)) return false
  const value = Number(token)
  return !Number.isFinite(value) || digitsOf(token) !== digitsOf(String(value))
}

/** The digits that count, and the power of ten of the last of them. */
function digitsOf(token: string): string {
  const [, sign = '', whole = '', part = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(token) ?? []
  const digits = `${whole}${part}`.replace(/^0+/, '')
  const counting = digits.replace(/0+$/, '')
  if (counting === '') return '0'
  return `${sign}${counting}e${Number(power) - part.length + (digits.length - counting.length)}`
}
