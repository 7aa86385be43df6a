const PLACEHOLDER =
  /example|placeholder|redacted|dummy|changeme|your[_-]|[xX]{6}|0{8}|\*{4}|•|\.{3}|^(?:\$[a-z_{(]|[<{[])/i

/** What documents and templates show in the place of a secret. */
export const isPlaceholder = (text: string): boolean => PLACEHOLDER.test(text)

const LEAST_DISTINCT = 8
/** Between a capital and the small letter behind it words turn too, so that this does not count. */
const LEAST_TURNS = 0.22

/**
 * Made by a machine rather than by a person: it turns from small letters to digits to capitals and back all the time,
 * which names, sentences, paths and dates do not.
 */
export function isRandom(text: string): boolean {
  if (isPlaceholder(text) || new Set(text).size < LEAST_DISTINCT) return false
  let turns = 0
  let before = classOf(text.charCodeAt(0))
  for (let at = 1; at < text.length; at++) {
    const now = classOf(text.charCodeAt(at))
    if (now !== before && now !== OTHER && before !== OTHER && !(before === CAPITAL && now === SMALL)) turns++
    before = now
  }
  return turns / text.length >= LEAST_TURNS
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
