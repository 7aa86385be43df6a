const ESCAPE = '\u001b'
const BELL = '\u0007'

/**
 * Control sequences of terminals: colors, cursor moves, window titles. Linear: each alternative ends at the next
 * escape.
 */
const TERMINAL_SEQUENCE = new RegExp(
  `${ESCAPE}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${BELL}${ESCAPE}]*(?:${BELL}|${ESCAPE}\\\\)|[@-Z\\\\^_])`,
  'g',
)

/**
 * Controls, formats (including bidirectional overrides), separators that some programs treat as line ends, and
 * characters that are displayed as nothing: fillers, variation selectors, the Braille blank.
 */
const INVISIBLE = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800]/gu

/** Escapes invisible characters of untrusted text, so that it can neither control a terminal nor fake a line. */
export function toVisibleText(text: string): string {
  return text.replaceAll(INVISIBLE, (char) => (char === '\t' ? char : toEscape(char)))
}

/** Like `toVisibleText`, but removes terminal colors, which loggers often add. */
export function toPlainText(text: string): string {
  return toVisibleText(text.replaceAll(TERMINAL_SEQUENCE, ''))
}

/** The beginning of a text. Does not split surrogate pairs. */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text
  const end = /[\ud800-\udbff]/.test(text[length - 1] ?? '') ? length - 1 : length
  return `${text.slice(0, end)}…`
}

function toEscape(char: string): string {
  const hex = (char.codePointAt(0) ?? 0).toString(16)
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`
}
