/**
 * What does not show, or changes how the rest shows: controls, formats (zero width, bidirectional, tags), separators that
 * some programs take for line ends, fillers, variation selectors, private use, broken pairs.
 */
const SUSPECT = /[\u2028\u2029\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Co}\p{Cs}]/gu

/** Nothing of this is suspect, and most texts have nothing else. */
const PRINTABLE_TEXT = /^[\t\n\r -~]*$/

const PICTURE = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\p{So}\p{Sm}]/u
/** Scripts in which joiners shape words, and in which marks of direction are common. */
const JOINED_SCRIPT =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}]/u
const RIGHT_TO_LEFT = /[\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Syriac}\p{Script=Thaana}]/u
/** The flags of England, Scotland and Wales: the only tag sequences that fonts show. */
const FLAG =
  /\u{1f3f4}\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073})\u{e007f}/gu

const KEYCAP = /[0-9#*]/
const LINE_PARTS = '\t\n\r'
const JOINERS = '\u200c\u200d'
const DIRECTION_MARKS = '\u200e\u200f\u061c'

/** Characters that a reader cannot see and a model can, each once and as `U+200B`; at most so many. */
export function findHiddenCharacters(text: string, most: number): readonly string[] {
  if (PRINTABLE_TEXT.test(text)) return []
  const found = new Set<string>()
  const withoutFlags = text.replaceAll(FLAG, '')
  for (const match of withoutFlags.matchAll(SUSPECT)) {
    if (isExpectedHere(withoutFlags, match.index, match[0])) continue
    found.add(codePoint(match[0]))
    if (found.size === most) break
  }
  return [...found]
}

/** Whether it belongs to the writing around it: a picture, or a script that needs it. */
function isExpectedHere(text: string, index: number, char: string): boolean {
  const before = characterBefore(text, index)
  const after = String.fromCodePoint(text.codePointAt(index + char.length) ?? 0)
  if (LINE_PARTS.includes(char)) return true
  // One for each picture: a run of them can carry any message.
  if (char === '\ufe0e' || char === '\ufe0f') return PICTURE.test(before) || (KEYCAP.test(before) && after === '\u20e3')
  if (char === '\u200d' && (PICTURE.test(before) || before === '\ufe0f')) return PICTURE.test(after)
  if (JOINERS.includes(char)) return JOINED_SCRIPT.test(before)
  if (DIRECTION_MARKS.includes(char)) return RIGHT_TO_LEFT.test(before) || RIGHT_TO_LEFT.test(after)
  return char === '\u00ad' && /\p{L}/u.test(before) && /\p{L}/u.test(after)
}

function characterBefore(text: string, index: number): string {
  const pair = text.slice(Math.max(0, index - 2), index)
  return [...pair].at(-1) ?? ''
}

const codePoint = (char: string): string =>
  `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
