const WIDTH = 100

/** Paragraphs as a comment of a file in which `#` begins one. */
export function formatComment(paragraphs: readonly string[]): string {
  return `${paragraphs
    .flatMap((text) => [...wrap(text), '#'])
    .slice(0, -1)
    .join('\n')}\n`
}

/** The lines after the first one of a list item are indented. */
function wrap(text: string): readonly string[] {
  const indent = text.startsWith('- ') ? '  ' : ''
  const lines: string[] = []
  let line = '#'
  for (const word of text.split(' ')) {
    if (line !== '#' && line.length + 1 + word.length > WIDTH) {
      lines.push(line)
      line = `# ${indent}${word}`
    } else line += ` ${word}`
  }
  return [...lines, line]
}
