import { detectLineEnding, lineStart, type TextLines } from './lined-text.ts'
import type { Splice } from './splice.ts'

/** Whole lines that are to stand before a line. */
export interface Insertion {
  readonly line: number
  readonly lines: readonly string[]
}

/** Puts whole lines before a line, with line ends like those around. */
export function insertLines(source: TextLines, { line, lines }: Insertion): Splice {
  const at = lineStart(source, line)
  const end = detectLineEnding(source, at)
  const isOpen = at > lineStart(source, 0) && !source.text.endsWith('\n', at)
  return { at, removed: '', inserted: `${isOpen ? end : ''}${lines.join(end)}${end}` }
}

/** Several insertions in the order of the text; those at one line become one, in the order given. */
export function insertAll(source: TextLines, insertions: readonly Insertion[]): readonly Splice[] {
  const byLine = new Map<number, readonly string[]>()
  for (const { line, lines } of insertions) byLine.set(line, [...(byLine.get(line) ?? []), ...lines])
  return [...byLine].toSorted(([a], [b]) => a - b).map(([line, lines]) => insertLines(source, { line, lines }))
}
