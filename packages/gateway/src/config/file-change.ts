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

/** The change line by line, with some lines of context. */
export const diffTexts = (before: string, after: string): readonly DiffLine[] =>
  diffLines(before.split(/\r?\n/), after.split(/\r?\n/))

export const notAsShownError = (path: string): SallyportError =>
  new SallyportError('CONFIG_CHANGED', `${path} would not become what was shown; nothing was written.`, {
    hint: 'Preview the change again, and look at it again.',
  })
