import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, statSync } from 'node:fs'
import { SallyportError } from '@sallyport/core'
import { diskFix, diskReason, errnoOf } from './disk-trouble.ts'

/** The platforms that cannot sync a folder say so with one of these; there a rename is durable by other means. */
const FOLDER_SYNC_REFUSED = new Set(['EINVAL', 'EISDIR', 'EPERM', 'ENOTSUP'])

/** Makes a folder that only its owner can enter. One that is there already, and may be anybody's, is left as it is. */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    if (!statSync(path).isDirectory()) throw new SallyportError('STATE_UNUSABLE', `${path} is not a folder.`)
  } catch (cause) {
    throw stateUnusable(path, cause)
  }
}

/** A folder that is ours alone: also one that an earlier umask or a copy left open is closed to others. */
export function makePrivateFolder(path: string): void {
  makeFolder(path)
  try {
    if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o700)
  } catch (cause) {
    throw stateUnusable(path, cause)
  }
}

/** Makes the names in a folder durable, as a sync of a file does for its bytes. */
export function syncFolder(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } catch (cause) {
    if (!FOLDER_SYNC_REFUSED.has(errnoOf(cause))) throw cause
  } finally {
    closeSync(fd)
  }
}

/** Creates an empty 0600 file unless there is one. It never opens one that exists: closing it would drop SQLite's POSIX locks on it. */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (cause) {
    if (errnoOf(cause) !== 'EEXIST') throw stateUnusable(path, cause)
  }
}

export function stateUnusable(path: string, cause: unknown): SallyportError {
  if (cause instanceof SallyportError) return cause
  return new SallyportError('STATE_UNUSABLE', `The state at ${path} cannot be used: ${diskReason(cause)}.`, {
    hint: diskFix(cause),
    cause,
  })
}
