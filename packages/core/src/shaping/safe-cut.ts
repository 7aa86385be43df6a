/** Larger than any grapheme cluster in use: the longest emoji family has 25 code units. */
const WINDOW = 64

let segmenter: Intl.Segmenter | undefined

/** The last position at or before `at` where a cut does not split what a reader sees as one character. */
export function cutBefore(text: string, at: number): number {
  if (at <= 0) return 0
  if (at >= text.length) return text.length
  if (isPlainBoundary(text, at)) return at
  return graphemeStart(text, at) ?? pairStart(text, at)
}

/** The first such position at or after `at`. */
export function cutAfter(text: string, at: number): number {
  if (at <= 0) return 0
  if (at >= text.length) return text.length
  if (isPlainBoundary(text, at)) return at
  const before = graphemeStart(text, at)
  if (before === at) return at
  const end = before === undefined ? undefined : graphemeEnd(text, before)
  return end ?? (isInsidePair(text, at) ? at + 1 : at)
}

/** Most cuts are between characters that never join, and the segmenter is a hundred times slower. */
function isPlainBoundary(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  const after = text.charCodeAt(at)
  return before < 0x300 && after < 0x300 && !(before === 0x0d && after === 0x0a)
}

/** `undefined` if the cluster is longer than any that a script uses. */
function graphemeStart(text: string, at: number): number | undefined {
  const from = pairStart(text, Math.max(0, at - WINDOW))
  let start = from
  for (const { index } of segments(text.slice(from, at + WINDOW))) {
    if (from + index > at) break
    start = from + index
  }
  return start === from && from > 0 ? undefined : start
}

function graphemeEnd(text: string, start: number): number | undefined {
  const [first] = segments(text.slice(start, start + 2 * WINDOW))
  const length = first?.segment.length ?? 0
  return length === 2 * WINDOW ? undefined : start + length
}

function segments(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter('und', { granularity: 'grapheme' })
  return segmenter.segment(text)
}

const pairStart = (text: string, at: number): number => (isInsidePair(text, at) ? at - 1 : at)

function isInsidePair(text: string, at: number): boolean {
  const before = text.charCodeAt(at - 1)
  const after = text.charCodeAt(at)
  return before >= 0xd800 && before <= 0xdbff && after >= 0xdc00 && after <= 0xdfff
}

/** Replaces the middle of a text by a mark with the number of omitted characters. */
export function cutMiddleAndCount(
  text: string,
  maxLength: number,
): { readonly text: string; readonly omitted: number } {
  if (text.length <= maxLength) return { text, omitted: 0 }
  const room = Math.max(0, maxLength - markLength(text.length))
  const head = cutBefore(text, Math.ceil((room * 2) / 3))
  const tail = Math.max(head, cutAfter(text, text.length - Math.floor(room / 3)))
  const omitted = tail - head
  if (omitted === 0) return { text, omitted }
  return { text: `${text.slice(0, head)} ${omissionMark(omitted, 'character')} ${text.slice(tail)}`, omitted }
}

/** The same without the separate count. */
export const cutMiddle = (text: string, maxLength: number): string => cutMiddleAndCount(text, maxLength).text

const markLength = (count: number): number => omissionMark(count, 'character').length + 2

/** `… 1,200 rows omitted …` */
export const omissionMark = (count: number, noun: string): string => `… ${formatCount(count, noun)} omitted …`

/** `1 row`, `1,200 rows`. */
export const formatCount = (count: number, noun: string): string =>
  `${groupDigits(count)} ${noun}${count === 1 ? '' : 's'}`

/** Digits in groups, the same in every locale. */
export const groupDigits = (count: number): string => String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
