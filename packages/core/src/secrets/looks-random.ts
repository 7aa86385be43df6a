const PLACEHOLDER =
  /example|placeholder|redacted|dummy|changeme|your[_-]|[xX]{6}|0{8}|\*{4}|•|\.{3}|^(?:\$[a-z_{(]|[<{[])/i

/** What documents and templates show in the place of a secret. */
export const isPlaceholder = (text: string): boolean => PLACEHOLDER.test(text)

const MIN_DISTINCT = 8
const MIN_CHANGE_RATE = 0.22
/** Enough for what goes on and on without a space or a sign and has many digits: few names do. */
const MIN_LONG_CHANGE_RATE = 0.12
const LONG_RUN = /[A-Za-z0-9]{20}/

/**
 * Made by a machine rather than by a person: it turns from small letters to digits to capitals and back all the time,
 * which names, sentences, paths and dates do not.
 */
export function looksRandom(text: string): boolean {
  if (isPlaceholder(text) || new Set(text).size < MIN_DISTINCT) return false
  const isLong = LONG_RUN.test(text) && text.replaceAll(/\D/g, '').length >= 6
  return countClassChanges(text) / text.length >= (isLong ? MIN_LONG_CHANGE_RATE : MIN_CHANGE_RATE)
}

/** A placeholder, and not a key that one stands behind: without its words nothing is left that a machine made. */
export const isOnlyPlaceholder = (text: string): boolean =>
  isPlaceholder(text) && !text.split(PLACEHOLDER).some((part) => LONG_RUN.test(part) && looksRandom(part))

/** Words turn too from a capital to the small letter behind it, so that this does not count. */
function countClassChanges(text: string): number {
  let turns = 0
  let before = classOf(text.charCodeAt(0))
  for (let at = 1; at < text.length; at++) {
    const now = classOf(text.charCodeAt(at))
    if (now !== before && now !== OTHER && before !== OTHER && !(before === CAPITAL && now === SMALL)) turns++
    before = now
  }
  return turns
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
