/** The indent of a line with only spaces (BLANK) or only a comment (COMMENT). */
export const BLANK = -1
export const COMMENT = -2
/** The indent of a line that starts with a tab. Whether that is allowed depends on the lines before it. */
export const TABBED = -3

/** A text and its lines. Lines start at 0. */
export interface TextLines {
  readonly text: string
  /** The offset of each line. The first line starts after a byte order mark. */
  readonly starts: readonly number[]
  /** The number of leading spaces of each line, or one of the constants above. */
  readonly indents: readonly number[]
}

const LF = 10
const CR = 13
const SPACE = 32
const HASH = 35
const TAB = 9

/** The first lines of a text that are the same in another text. */
export interface SharedLines {
  readonly source: TextLines
  readonly lines: number
}

export function splitLines(text: string, shared?: SharedLines): TextLines {
  const starts = shared?.source.starts.slice(0, shared.lines) ?? []
  const indents = shared?.source.indents.slice(0, shared.lines) ?? []
  let start = shared ? lineStart(shared.source, shared.lines) : text.charCodeAt(0) === 0xfeff ? 1 : 0
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

/** The offset of a line; for the line after the last one, the end of the text. */
export const lineStart = ({ starts, text }: TextLines, line: number): number => starts[line] ?? text.length

/** The number of characters from each of these lines to the next one in the list, or to the end of the text. */
export const measureLines = (source: TextLines, lines: readonly number[]): readonly number[] =>
  lines.map((line, at) => lineStart(source, lines[at + 1] ?? source.starts.length) - lineStart(source, line))

export const indentOf = ({ indents }: TextLines, line: number): number => indents[line] ?? BLANK

/** A line without its line break and without its first `indent` characters. */
export function lineText(source: TextLines, line: number, indent = 0): string {
  const { text } = source
  let end = lineStart(source, line + 1)
  if (text.charCodeAt(end - 1) === LF) end -= text.charCodeAt(end - 2) === CR ? 2 : 1
  return text.slice(lineStart(source, line) + indent, end)
}

/** The line that contains an offset. */
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

/** The line ending before an offset; if there is none, the first line ending of the text. */
export function detectLineEnding({ text }: TextLines, offset: number): '\n' | '\r\n' {
  const before = text.lastIndexOf('\n', offset - 1)
  const nearest = before === -1 ? text.indexOf('\n') : before
  return nearest > 0 && text.charCodeAt(nearest - 1) === CR ? '\r\n' : '\n'
}
