import { HeadTailBuffer, type IndexedSpan } from './line-index.ts'
import { eachPart } from './markup-walk.ts'
import type { Ends, Preset } from './preset.ts'
import { type Preview, SCALES, scaleEnds, scaleLength } from './preview.ts'
import { cutMiddle, omissionMark } from './safe-cut.ts'

/** A line of markup is a tag, its text, and the tag's end. */
const PARTS_PER_LINE = 3

/** Ever smaller previews of HTML or XML: the first and the last tags and texts, none of them cut within a tag. */
export function* markupPreviews(text: string, preset: Preset): Generator<Preview> {
  const ends = { head: preset.lines.head * PARTS_PER_LINE, tail: preset.lines.tail * PARTS_PER_LINE }
  const keeper = new HeadTailBuffer(ends)
  eachPart(text, ({ start, end }) => keeper.add(start, end))
  for (const scale of SCALES)
    yield writeMarkup(text, keeper, { ends: scaleEnds(ends, scale), length: scaleLength(scale) })
}

function writeMarkup(
  text: string,
  keeper: HeadTailBuffer,
  { ends, length }: { readonly ends: Ends; readonly length: number },
): Preview {
  const shown = keeper.select(ends)
  const count = keeper.count - shown.length
  let body = ''
  let before: IndexedSpan | undefined
  for (const part of shown) {
    const isGap = part.index > (before?.index ?? -1) + 1
    if (isGap) body += `\n${gapMark(part.index - (before?.index ?? -1) - 1)}\n`
    else if (before !== undefined) body += spacing(text, before.end, part.start)
    body += writePart(text, part, length)
    before = part
  }
  const left = keeper.count - 1 - (before?.index ?? -1)
  if (left > 0) body += `\n${gapMark(left)}`
  const hasCuts = shown.some(({ start, end }) => end - start > length)
  return { text: body, omission: { noun: 'part', count, of: keeper.count }, hasCuts }
}

const gapMark = (missing: number): string => `<!-- ${omissionMark(missing, 'part')} -->`

/** What stood between two parts: white space as one of it, a comment or a script as a dot for what is missing. */
function spacing(text: string, from: number, to: number): string {
  const between = text.slice(from, Math.min(to, from + 200))
  if (between === '') return ''
  if (between.trim() !== '') return '…'
  return between.includes('\n') ? '\n' : ' '
}

/** A tag is whole or it is its name alone: half an attribute helps nobody. */
function writePart(text: string, { start, end }: IndexedSpan, length: number): string {
  if (end - start <= length) return text.slice(start, end)
  const name = /^<[/?!]?[A-Za-z][^\s<>"'/]{0,60}/.exec(text.slice(start, start + 64))?.[0]
  return name === undefined ? cutMiddle(text.slice(start, end), length) : `${name} …>`
}
