import { toVisibleText } from '@sallyport/core'

/** Colours and weights, or none of them. */
export interface Style {
  readonly bold: (text: string) => string
  readonly dim: (text: string) => string
  readonly red: (text: string) => string
  readonly green: (text: string) => string
  readonly yellow: (text: string) => string
}

const plain = (text: string): string => text
const sgr =
  (on: number, off: number) =>
  (text: string): string =>
    `\u001b[${on}m${text}\u001b[${off}m`

export const PLAIN: Style = { bold: plain, dim: plain, red: plain, green: plain, yellow: plain }
export const COLORED: Style = {
  bold: sgr(1, 22),
  dim: sgr(2, 22),
  red: sgr(31, 39),
  green: sgr(32, 39),
  yellow: sgr(33, 39),
}

/** Makes multi-line text from others safe: newlines stay, all other control characters are escaped. */
export function visibleLines(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((line) => toVisibleText(line))
    .join('\n')
}

/** Makes text from others safe for one line: also without tabs, which would break columns. */
export function visibleLine(text: string): string {
  return toVisibleText(text.replaceAll(/\s+/g, ' ').trim())
}

const WIDE =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
let segmenter: Intl.Segmenter | undefined

/** Created on demand: creating a segmenter takes 9 ms, and most text is ASCII. */
function splitGraphemes(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  return segmenter.segment(text)
}

/** The width of a text in terminal columns. */
export function displayWidth(text: string): number {
  if (/^[\u0020-\u007e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of splitGraphemes(text)) width += WIDE.test(segment) ? 2 : 1
  return width
}

/** Truncates text to a width in columns, with `…` at the end. */
export function truncateText(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  let kept = ''
  let used = 1
  for (const { segment } of splitGraphemes(text)) {
    used += displayWidth(segment)
    if (used > width) break
    kept += segment
  }
  return `${kept}…`
}
