/** Of a line that holds nothing but spaces or a comment. */
export const BLANK = -1
export const COMMENT = -2
/** Of a line that a tab begins. Whether that may be depends on what is before it. */
export const TABBED = -3

/** A text and its lines, which count from 0 here. */
export interface TextLines {
  readonly text: string
  /** Where each line begins; that of the first is behind a byte order mark. */
  readonly starts: readonly number[]
  /** How many spaces each line begins with, or one of the constants above. */
  readonly indents: readonly number[]
}

const LF = 10
const CR = 13
const SPACE = 32
const HASH = 35
const TAB = 9

/** The first lines of a text, which are those of another one. */
export interface SharedLines {
  readonly source: TextLines
  readonly lines: number
}

export function splitLines(text: string, same?: SharedLines): TextLines {
  const starts = same?.source.starts.slice(0, same.lines) ?? []
  const indents = same?.source.indents.slice(0, same.lines) ?? []
  let start = same ? lineStart(same.source, same.lines) : text.charCodeAt(0) === 0xfeff ? 1 : 0
  while (start < text.length) {
    starts.push(start)
    indents.push(indentAt(text, start))
    const end = text.indexOf('\n', start)
    start = end === -1 ? text.length : end + 1
  }
  return { text, starts, indents }
}

function indentAt(text: string, start: number): number {
  let at = start
  while (text.charCodeAt(at) === SPACE) at++
  const first = text.charCodeAt(at)
  if (at === text.length || first === LF || first === CR) return BLANK
  if (first === HASH) return COMMENT
  return first === TAB ? TABBED : at - start
}

/** Where a line begins; the end of the text for the line after the last. */
export const lineStart = ({ starts, text }: TextLines, line: number): number => starts[line] ?? text.length

/** How many characters there are from each of these lines to the next of them; the last one goes to the end. */
export const measureLines = (source: TextLines, lines: readonly number[]): readonly number[] =>
  lines.map((line, at) => lineStart(source, lines[at + 1] ?? source.starts.length) - lineStart(source, line))

export const indentOf = ({ indents }: TextLines, line: number): number => indents[line] ?? BLANK

/** A line without the line break, and without so many characters at its beginning. */
export function lineText(source: TextLines, line: number, indent = 0): string {
  const { text } = source
  let end = lineStart(source, line + 1)
  if (text.charCodeAt(end - 1) === LF) end -= text.charCodeAt(end - 2) === CR ? 2 : 1
  return text.slice(lineStart(source, line) + indent, end)
}

/** The line that an offset is in. */
export function lineAt({ starts }: TextLines, offset: number): number {
  let low = 0
  let high = starts.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((starts[middle] ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  return low
}

/** How the line before an offset ends; where there is none, how the first one does. */
export function detectLineEnding({ text }: TextLines, offset: number): '\n' | '\r\n' {
  const before = text.lastIndexOf('\n', offset - 1)
  const nearest = before === -1 ? text.indexOf('\n') : before
  return nearest > 0 && text.charCodeAt(nearest - 1) === CR ? '\r\n' : '\n'
}
