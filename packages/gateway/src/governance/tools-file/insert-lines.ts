import { type LinedText, lineEndBefore, startOf } from './lined-text.ts'
import type { Splice } from './splice.ts'

/** Puts whole lines before a line, with line ends like those around. */
export function insertLines(source: LinedText, line: number, lines: readonly string[]): Splice {
  const at = startOf(source, line)
  const end = lineEndBefore(source, at)
  const isOpen = at > startOf(source, 0) && !source.text.endsWith('\n', at)
  return { at, removed: '', inserted: `${isOpen ? end : ''}${lines.join(end)}${end}` }
}
