import { createHash } from 'node:crypto'
import { type DiffLine, diffLines, SallyportError } from '@sallyport/core'

type Content = string | Uint8Array

/**
 * What a person has seen of a change before it is written: it differs if the file differs, or what would be written.
 */
export function hashChange(before: Content | undefined, after: Content): string {
  const hash = createHash('sha256').update(before === undefined ? 'none' : `${before.length}\n`)
  return hash
    .update(before ?? '')
    .update(after)
    .digest('hex')
}

/** The change of a YAML file line by line, with some lines of context, and the key to which each part belongs. */
export function diffTexts(before: string, after: string): readonly DiffLine[] {
  const now = after.split(/\r?\n/)
  const lines = diffLines(before.split(/\r?\n/), now)
  return lines.map((line, at) => {
    const key = line.mark === '…' ? findKey(now, lines[at + 1]?.line) : undefined
    return key === undefined ? line : { ...line, text: `${line.text}, now in ${key}` }
  })
}

/** The nearest line above that is indented less, unless it is a section: those are known. */
function findKey(lines: readonly string[], number: number | undefined): string | undefined {
  if (number === undefined) return undefined
  const indent = indentOf(lines[number - 1] ?? '')
  for (let at = number - 2; at >= 0; at--) {
    const line = lines[at] ?? ''
    if (/^\s*[^\s#]/.test(line) && indentOf(line) < indent) return indentOf(line) === 0 ? undefined : line.trim()
  }
  return undefined
}

const indentOf = (line: string): number => line.length - line.trimStart().length

export const notAsShownError = (path: string): SallyportError =>
  new SallyportError('CONFIG_CHANGED', `${path} would not become what was shown; nothing was written.`, {
    hint: 'Preview the change again, and look at it again.',
  })
