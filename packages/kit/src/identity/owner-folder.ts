import { createHash } from 'node:crypto'
import { join } from 'node:path'

const MAX_SHOWN_CHARS = 24

/**
 * The folder below the root that belongs to one session of one user, and to no other. Whatever the two strings contain,
 * it is one name of lower-case letters, digits and "-". The digest separates names that a file system might treat as
 * equal (letter case, Unicode forms, trailing dots); the beginning is for people.
 */
export function ownerFolder(root: string, userId: string, sessionId: string): string {
  // JSON separates the pair, and escapes a lone surrogate, which UTF-8 would lose.
  const digest = createHash('sha256')
    .update(JSON.stringify([userId, sessionId]))
    .digest('hex')
  const shown = userId
    .replace(/[^A-Za-z0-9]/g, '')
    .slice(0, MAX_SHOWN_CHARS)
    .toLowerCase()
  return join(root, `${shown === '' ? 'user' : shown}-${digest}`)
}
