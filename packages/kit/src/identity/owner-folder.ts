import { createHash } from 'node:crypto'
import { join } from 'node:path'

const MAX_SHOWN_CHARS = 24

/**
 * The folder below the root that belongs to one session of one user, and to no other. Whatever the two texts hold, it
 * is one name of lower-case letters, digits and "-": the digest tells apart what a file system might take for the same
 * (letter case, Unicode forms, trailing dots), and the beginning is there for people.
 */
export function ownerFolder(root: string, userId: string, sessionId: string): string {
  // JSON keeps the pair apart at its comma, and writes a lone surrogate as an escape where UTF-8 would lose it.
  const digest = createHash('sha256')
    .update(JSON.stringify([userId, sessionId]))
    .digest('hex')
  const shown = userId
    .replace(/[^A-Za-z0-9]/g, '')
    .slice(0, MAX_SHOWN_CHARS)
    .toLowerCase()
  return join(root, `${shown === '' ? 'user' : shown}-${digest}`)
}
