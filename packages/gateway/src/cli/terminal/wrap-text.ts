import { displayWidth } from './terminal-text.ts'

/** What can be copied stays in one piece: a word, or a command between backticks. */
const PIECES = /`[^`]*`\S*|\S+/g

/** The words of one line in lines of so many columns. */
export function wrapText(text: string, width: number | undefined): readonly string[] {
  if (width === undefined || displayWidth(text) <= width) return [text]
  const indent = /^ */.exec(text)?.[0] ?? ''
  const lines: string[] = []
  let line = indent
  for (const word of text.match(PIECES) ?? []) {
    const longer = line.trim() === '' ? `${line}${word}` : `${line} ${word}`
    if (line.trim() !== '' && displayWidth(longer) > width) {
      lines.push(line)
      line = `${indent}${word}`
    } else line = longer
  }
  return [...lines, line]
}
