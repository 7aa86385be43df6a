/** The kinds of personal data that can be recognised by their form. */
export type PersonalData = 'an e-mail address' | 'a payment card' | 'an IBAN' | 'a US social security number'

const EMAIL = /[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}/
const SSN = /(?<!\d)(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?!\d)/
/** 13 to 19 digits, in groups or not. */
const CARD = /(?<![\d-])\d(?:[ -]?\d){12,18}(?![\d-])/g
const IBAN = /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?\b/g

/** The first kind that a text contains; `undefined` if there is none. By form and check digit only: names are not found. */
export function findPersonalData(text: string): PersonalData | undefined {
  if (EMAIL.test(text)) return 'an e-mail address'
  if (SSN.test(text)) return 'a US social security number'
  for (const [found] of text.matchAll(CARD)) if (isCardNumber(found.replaceAll(/\D/g, ''))) return 'a payment card'
  for (const [found] of text.matchAll(IBAN)) if (isIban(found.replaceAll(' ', ''))) return 'an IBAN'
  return undefined
}

/** The check digit of payment cards (Luhn). Numbers of one digit alone are examples and separators. */
function isCardNumber(digits: string): boolean {
  if (/^(\d)\1*$/.test(digits)) return false
  let sum = 0
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits[digits.length - 1 - at])
    const doubled = at % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

/** The check digits of an account number (ISO 13616). */
function isIban(iban: string): boolean {
  if (iban.length < 15 || iban.length > 34) return false
  let rest = 0
  for (const char of iban.slice(4) + iban.slice(0, 4)) {
    const value = /\d/.test(char) ? Number(char) : char.charCodeAt(0) - 55
    rest = (rest * (value > 9 ? 100 : 10) + value) % 97
  }
  return rest === 1
}
