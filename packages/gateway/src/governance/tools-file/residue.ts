import { lineStart, type TextLines } from './lined-text.ts'
import type { EntryRange } from './outline.ts'

/** What is left of a text for a parser, and where it stood. */
export interface RemainingText {
  readonly text: string
  originalOffset(offset: number): number
}

interface Piece {
  readonly from: number
  readonly original: number
}

/** The text without the entries that could be read line by line. */
export function extractRemaining(source: TextLines, entries: readonly EntryRange[]): RemainingText {
  const pieces: Piece[] = []
  let text = ''
  const keep = (from: number, to: number): void => {
    if (from === to) return
    pieces.push({ from: text.length, original: from })
    text += source.text.slice(from, to)
  }
  let from = 0
  for (const { line, end, fields } of entries) {
    if (fields === undefined) continue
    keep(from, lineStart(source, line))
    from = lineStart(source, end)
  }
  keep(from, source.text.length)
  return { text, originalOffset: (offset) => originalOffset(pieces, offset) }
}

function originalOffset(pieces: readonly Piece[], offset: number): number {
  let low = 0
  let high = pieces.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((pieces[middle]?.from ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  const piece = pieces[low]
  return piece === undefined ? offset : piece.original + offset - piece.from
}
