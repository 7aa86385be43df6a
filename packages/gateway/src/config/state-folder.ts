import { randomUUID } from 'node:crypto'
import type { Stats } from 'node:fs'
import { chmod, mkdir, open, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { errorCode } from './system-error.ts'

export interface StateFolder {
  readonly path: string
  readonly warnings: readonly string[]
}

/** The state folder, made if it is missing, ours alone, and proven to take a write. */
export async function prepareState(path: string): Promise<StateFolder> {
  try {
    await mkdir(path, { recursive: true, mode: 0o700 })
    const found = await stat(path)
    refuseForeign(path, found)
    const warnings = await tighten(path, found)
    await probe(path)
    return { path, warnings }
  } catch (error) {
    throw error instanceof SallyportError ? error : unusable(path, error)
  }
}

/** Tokens and the record of every call lie here: whoever owns the folder could read and replace them. */
function refuseForeign(path: string, found: Stats): void {
  const user = process.getuid?.()
  if (user === undefined || found.uid === user) return
  throw new SallyportError(
    'STATE_UNUSABLE',
    `The state folder ${path} belongs to the user with id ${found.uid}; the gateway runs as ${user}.`,
    {
      hint: `Name a folder of your own with --state or SALLYPORT_STATE, or change the owner: chown -R ${user} ${path}`,
    },
  )
}

async function tighten(path: string, found: Stats): Promise<readonly string[]> {
  if ((found.mode & 0o077) === 0) return []
  await chmod(path, 0o700)
  const mode = (found.mode & 0o777).toString(8)
  return [`The state folder ${path} was open to other users (mode ${mode}); it is now 700.`]
}

/** Only a write shows a full disk, a quota or a read-only mount. */
async function probe(path: string): Promise<void> {
  const file = join(path, `.probe-${randomUUID()}`)
  const handle = await open(file, 'wx', 0o600)
  try {
    await handle.write('.')
    await handle.sync()
  } finally {
    await handle.close()
    await unlink(file)
  }
}

const HINTS: Readonly<Record<string, string>> = {
  EEXIST: 'There is a file of that name. Remove it',
  ENOTDIR: 'A part of the path is a file. Correct the path',
  EACCES: 'Give the user who starts the gateway the right to write there',
  EPERM: 'Give the user who starts the gateway the right to write there',
  EROFS: 'The file system is mounted read-only. Mount it writable',
  ENOSPC: 'The disk is full. Make room',
  EDQUOT: 'The disk quota is used up. Make room',
}

function unusable(path: string, cause: unknown): SallyportError {
  const code = errorCode(cause) ?? 'unknown error'
  const fix = HINTS[code] ?? 'Check the path'
  return new SallyportError('STATE_UNUSABLE', `The state folder ${path} cannot be used (${code}).`, {
    hint: `${fix}, or name another folder with --state or SALLYPORT_STATE.`,
    cause,
  })
}
