import type { FillDetail, FillLimits, FillSource } from './fill-budget.ts'
import { HeadTailBuffer, type IndexedSpan } from './head-tail-buffer.ts'
import { isTooLong } from './line-preview.ts'
import type { Ends, Preset } from './preset.ts'
import { type Preview, SCALES, scaleEnds, scaleLength } from './preview.ts'
import { cutMiddle, omissionMark } from './safe-cut.ts'

/** A line of markup is a tag, its text, and the tag's end. */
const PARTS_PER_LINE = 3

/** Smaller and smaller previews of HTML or XML: the first and last tags and texts. No tag is cut in the middle. */
export function* markupPreviews(text: string, preset: Preset): Generator<Preview> {
  const ends = { head: preset.lines.head * PARTS_PER_LINE, tail: preset.lines.tail * PARTS_PER_LINE }
  const buffer = collectParts(text, ends)
  for (const scale of SCALES) {
    const shown = buffer.select(scaleEnds(ends, scale))
    yield writeMarkup(text, { shown, count: buffer.count, length: scaleLength(scale) })
  }
}

/** The same parts, for a preview that fills its threshold. */
export function openMarkup(text: string, { maxParts, threshold }: FillLimits): FillSource {
  const buffer = collectParts(text, { head: maxParts, tail: maxParts })
  return {
    maxParts: Math.min(buffer.count, maxParts),
    innerScales: [1],
    canGrowInner: false,
    render: ({ ends: wanted, length }: FillDetail) => {
      const shown = buffer.select(wanted)
      // A long tag is shown by its name only, which is shorter than any cut text.
      const isFull = isTooLong(shown, Math.min(length, MAX_TAG_NAME), threshold)
      return isFull ? undefined : writeMarkup(text, { shown, count: buffer.count, length })
    },
  }
}

function collectParts(text: string, ends: Ends): HeadTailBuffer {
  const buffer = new HeadTailBuffer(ends)
  eachPart(text, ({ start, end }) => buffer.add(start, end))
  return buffer
}

const MAX_TAG_NAME = 64

interface MarkupSelection {
  readonly shown: readonly IndexedSpan[]
  readonly count: number
  readonly length: number
}

function writeMarkup(text: string, { shown, count, length }: MarkupSelection): Preview {
  let body = ''
  let before: IndexedSpan | undefined
  for (const part of shown) {
    const isGap = part.index > (before?.index ?? -1) + 1
    if (isGap) body += `\n${gapMark(part.index - (before?.index ?? -1) - 1)}\n`
    else if (before !== undefined) body += spacing(text, before.end, part.start)
    body += writePart(text, part, length)
    before = part
  }
  const left = count - 1 - (before?.index ?? -1)
  if (left > 0) body += `\n${gapMark(left)}`
  const hasCuts = shown.some(({ start, end }) => end - start > length)
  return { text: body, omission: { noun: 'part', count: count - shown.length, of: count }, hasCuts }
}

const gapMark = (missing: number): string => `<!-- ${omissionMark(missing, 'part')} -->`

/** The text between two parts: white space becomes one character, a comment or a script becomes `…`. */
function spacing(text: string, from: number, to: number): string {
  const between = text.slice(from, Math.min(to, from + 200))
  if (between === '') return ''
  if (between.trim() !== '') return '…'
  return between.includes('\n') ? '\n' : ' '
}

/** A tag is shown completely or only by its name: half an attribute does not help. */
function writePart(text: string, { start, end }: IndexedSpan, length: number): string {
  if (end - start <= length) return text.slice(start, end)
  const name = /^<[/?!]?[A-Za-z][^\s<>"'/]{0,60}/.exec(text.slice(start, start + 64))?.[0]
  return name === undefined ? cutMiddle(text.slice(start, end), length) : `${name} …>`
}

const LESS = 0x3c
const GREATER = 0x3e
const SINGLE = 0x27
const DOUBLE = 0x22

/** A tag, or a text between two. */
interface MarkupPart {
  readonly isTag: boolean
  readonly start: number
  readonly end: number
}

/** After these tags everything up to the end tag is code, not content. */
const CODE = /^<(script|style)\b/i
const CODE_END = { script: /<\/script/gi, style: /<\/style/gi } as const

/** Visits the tags and texts of HTML or XML. Skips comments, scripts, styles and white space. */
function eachPart(text: string, visit: (part: MarkupPart) => void): void {
  let at = 0
  while (at < text.length) {
    const end = text.charCodeAt(at) === LESS ? tagEnd(text, at) : -1
    if (end < 0) {
      const next = textEnd(text, at)
      visitText(text, { start: at, end: next }, visit)
      at = next
      continue
    }
    const isComment = text.startsWith('<!--', at)
    if (!isComment) visit({ isTag: !text.startsWith('<![CDATA[', at), start: at, end })
    at = isComment ? end : codeEnd(text, at, end)
  }
}

function visitText(
  text: string,
  { start, end }: { readonly start: number; readonly end: number },
  visit: (part: MarkupPart) => void,
): void {
  const piece = text.slice(start, end)
  const first = start + (piece.length - piece.trimStart().length)
  const last = first + piece.trim().length
  if (last > first) visit({ isTag: false, start: first, end: last })
}

/** At least one character: a "<" that opens nothing is text. */
function textEnd(text: string, from: number): number {
  const next = text.indexOf('<', from + 1)
  return next < 0 ? text.length : next
}

/** -1 if no tag begins here. A tag that is not closed extends to the end, so that nothing is read twice. */
function tagEnd(text: string, at: number): number {
  if (text.startsWith('<!--', at)) return endOfMark(text, '-->', at + 4)
  if (text.startsWith('<![CDATA[', at)) return endOfMark(text, ']]>', at)
  return /[A-Za-z/!?]/.test(text.charAt(at + 1)) ? plainTagEnd(text, at) : -1
}

function endOfMark(text: string, mark: string, from: number): number {
  const found = text.indexOf(mark, from)
  return found < 0 ? text.length : found + mark.length
}

function plainTagEnd(text: string, from: number): number {
  let quote = 0
  for (let at = from + 1; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (quote !== 0) quote = code === quote ? 0 : quote
    else if (code === GREATER) return at + 1
    else if (code === SINGLE || code === DOUBLE) quote = code
  }
  return text.length
}

function codeEnd(text: string, start: number, end: number): number {
  const name = CODE.exec(text.slice(start, start + 8))?.[1]?.toLowerCase()
  if ((name !== 'script' && name !== 'style') || text.charAt(end - 2) === '/') return end
  const pattern = CODE_END[name]
  pattern.lastIndex = end
  return pattern.exec(text)?.index ?? text.length
}
