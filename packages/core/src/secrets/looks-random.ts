const PLACEHOLDER =
  /example|placeholder|redacted|dummy|changeme|your[_-]|[xX]{6}|0{8}|\*{4}|•|\.{3}|^(?:\$[a-z_{(]|[<{[])/i

/** Placeholders that documents and templates show instead of a secret. */
export const isPlaceholder = (text: string): boolean => PLACEHOLDER.test(text)

const MIN_DISTINCT = 8
const MIN_CHANGE_RATE = 0.22
/** A lower rate is enough for a long run of letters and digits with many digits: few names look like that. */
const MIN_LONG_CHANGE_RATE = 0.12
const LONG_RUN = /[A-Za-z0-9]{20}/

/**
 * Whether a text looks generated: it changes between small letters, digits and capitals all the time, which names,
 * sentences, paths and dates do not.
 */
export function looksRandom(text: string): boolean {
  if (isPlaceholder(text) || new Set(text).size < MIN_DISTINCT) return false
  const isLong = LONG_RUN.test(text) && text.replaceAll(/\D/g, '').length >= 6
  return countClassChanges(text) / text.length >= (isLong ? MIN_LONG_CHANGE_RATE : MIN_CHANGE_RATE)
}

/** A placeholder, and not a real key next to one: without the placeholder words nothing random is left. */
export const isOnlyPlaceholder = (text: string): boolean =>
  isPlaceholder(text) && !text.split(PLACEHOLDER).some((part) => LONG_RUN.test(part) && looksRandom(part))

/** A change from a capital to a small letter does not count: ordinary words have it too. */
function countClassChanges(text: string): number {
  let changes = 0
  let before = classOf(text.charCodeAt(0))
  for (let at = 1; at < text.length; at++) {
    const now = classOf(text.charCodeAt(at))
    if (now !== before && now !== OTHER && before !== OTHER && !(before === CAPITAL && now === SMALL)) changes++
    before = now
  }
  return changes
}

const OTHER = 0
const DIGIT = 1
const CAPITAL = 2
const SMALL = 3

function classOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return DIGIT
  if (code >= 0x41 && code <= 0x5a) return CAPITAL
  return code >= 0x61 && code <= 0x7a ? SMALL : OTHER
}
