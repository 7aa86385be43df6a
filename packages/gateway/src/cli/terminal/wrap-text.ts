import { displayWidth } from './terminal-text.ts'

/** Never broken, so that it can be copied: a word, or a command in backticks. */
const PIECES = /`[^`]*`\S*|\S+/g

/** Wraps one line to a width in columns. */
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
