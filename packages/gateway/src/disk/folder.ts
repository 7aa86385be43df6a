import { chmodSync, closeSync, fsyncSync, mkdirSync, openSync, type Stats, statSync } from 'node:fs'
import { SallyportError } from '@sallyport/core'
import { causeCode, stateUnusable } from './disk-errors.ts'

/** The errors of platforms that cannot sync a folder; there a rename is durable by other means. */
const SYNC_UNSUPPORTED_CODES = new Set(['EINVAL', 'EISDIR', 'EPERM', 'ENOTSUP'])

/** Creates a folder that only its owner can enter. An existing one, whoever owns it, is left as it is. */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
    if (!statSync(path).isDirectory()) throw new SallyportError('STATE_UNUSABLE', `${path} is not a folder.`)
  } catch (cause) {
    throw stateUnusable(path, cause)
  }
}

/**
 * Creates or checks a folder that only we can enter. If an earlier umask or a copy left it open to others, it is
 * closed, and the returned sentence says so.
 */
export function makePrivateFolder(path: string): string | undefined {
  makeFolder(path)
  try {
    const found = statSync(path)
    assertOwnFolder(path, found)
    return restrictAccess(path, found)
  } catch (cause) {
    throw stateUnusable(path, cause)
  }
}

/** Tokens and the record of every call are stored there: the owner of the folder could read and replace them. */
function assertOwnFolder(path: string, { uid }: Stats): void {
  const user = process.getuid?.()
  if (user === undefined || uid === user) return
  throw new SallyportError(
    'STATE_UNUSABLE',
    `The folder ${path} belongs to the user with id ${uid}; Sallyport runs as ${user}.`,
    {
      hint: `Choose a state folder of your own with --state or SALLYPORT_STATE, or change the owner: chown -R ${user} ${path}`,
    },
  )
}

function restrictAccess(path: string, { mode }: Stats): string | undefined {
  // Windows has no file modes that could be checked here.
  if (process.getuid === undefined || (mode & 0o077) === 0) return undefined
  chmodSync(path, 0o700)
  return `The folder ${path} was open to other users (mode ${(mode & 0o777).toString(8)}); it is now 700.`
}

/** Makes the names in a folder durable, as syncing a file does for its bytes. */
export function syncFolder(path: string): void {
  const fd = openSync(path, 'r')
  try {
    fsyncSync(fd)
  } catch (cause) {
    if (!SYNC_UNSUPPORTED_CODES.has(causeCode(cause))) throw cause
  } finally {
    closeSync(fd)
  }
}

/**
 * Creates an empty 0600 file if it does not exist. An existing one is never opened: closing it would drop SQLite's
 * POSIX locks on it.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (cause) {
    if (causeCode(cause) !== 'EEXIST') throw stateUnusable(path, cause)
  }
}
