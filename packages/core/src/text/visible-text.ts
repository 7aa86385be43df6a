const ESCAPE = '\u001b'
const BELL = '\u0007'

/** Colours, cursor moves and window titles: what a terminal would act upon. Each alternative ends at the next escape, so it is linear. */
const TERMINAL_SEQUENCE = new RegExp(
  `${ESCAPE}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${BELL}${ESCAPE}]*(?:${BELL}|${ESCAPE}\\\\)|[@-Z\\\\^_])`,
  'g',
)

/**
 * Controls, formats (bidirectional overrides among them), the separators that some programs take for line ends, and
 * letters and marks that are drawn as nothing: fillers, variation selectors, the blank of Braille.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/gu

/** Foreign text with everything that does not show written out, so that it can neither act on a terminal nor forge a line. */
export function toVisibleText(text: string): string {
  return text.replaceAll(INVISIBLE, (char) => (char === '\t' ? char : writtenOut(char)))
}

/** As `toVisibleText`, but without the colours that loggers like to add. */
export function toPlainText(text: string): string {
  return toVisibleText(text.replaceAll(TERMINAL_SEQUENCE, ''))
}

/** The beginning of a text, cut between characters. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text
  const end = /[\ud800-\udbff]/.test(text[length - 1] ?? '') ? length - 1 : length
  return `${text.slice(0, end)}…`
}

function writtenOut(char: string): string {
  const hex = (char.codePointAt(0) ?? 0).toString(16)
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`
}
