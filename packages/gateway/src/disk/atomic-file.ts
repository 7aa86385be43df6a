import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, rmSync, type Stats, statSync, unlinkSync } from 'node:fs'
import { chmod, chown, open, readlink, realpath, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { SallyportError } from '@sallyport/core'
import { causeCode, describeDiskError, suggestDiskFix } from './disk-errors.ts'
import { syncFolder } from './folder.ts'

const LEFTOVER = /^\..+\.(\d+)-[0-9a-f]{12}\.sallyport-tmp$/
/** A writer that needs longer than this is gone, even if another process now has its pid. */
const MAX_LEFTOVER_AGE_MS = 10 * 60_000

export interface ReplaceOptions {
  /** If missing, an existing file keeps its mode and a new one gets 0600. */
  readonly mode?: number
  /** Called right before the file is replaced: if it refuses, the file stays as it is. */
  readonly isWanted?: () => Promise<boolean>
  /** What the write survives. `process`: a power cut may undo it, or leave an empty file. */
  readonly durability?: 'process' | 'power'
}

/**
 * Replaces a file completely or not at all, and durably by default. A symbolic link is preserved: the file that it
 * leads to is replaced, and keeps its group. A file that is read-only or belongs to another user is left as it is.
 * Returns false if the write was no longer wanted.
 */
export async function replaceFile(
  path: string,
  data: string | Uint8Array,
  { isWanted, ...options }: ReplaceOptions = {},
): Promise<boolean> {
  let temporary: string | undefined
  try {
    const target = await resolveLink(path)
    temporary = join(dirname(target), temporaryName(target))
    await writeTemporaryFile(temporary, target, { data, ...options })
    if (isWanted && !(await isWanted())) {
      await rm(temporary, { force: true })
      return false
    }
    await rename(temporary, target)
    temporary = undefined
    if (options.durability !== 'process') syncFolder(dirname(target))
    return true
  } catch (cause) {
    if (temporary !== undefined) await rm(temporary, { force: true }).catch(() => undefined)
    throw new SallyportError('STATE_UNUSABLE', `${path} could not be written: ${describeDiskError(cause)}.`, {
      hint: `${suggestDiskFix(cause)} The file is as it was.`,
      cause,
    })
  }
}

/**
 * Returns false if the file did not exist. The removal is durable only once the folder is synced, because power may
 * fail.
 */
export function removeFile(path: string): boolean {
  try {
    unlinkSync(path)
  } catch (cause) {
    if (causeCode(cause) === 'ENOENT') return false
    throw cause
  }
  syncFolder(dirname(path))
  return true
}

/** Removes the temporary files that killed writers left in a folder, if the folder exists. */
export function removeStaleTempFiles(folder: string): void {
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) {
    const pid = LEFTOVER.exec(name)?.[1]
    if (pid !== undefined && isAbandoned(join(folder, name), Number(pid))) rmSync(join(folder, name), { force: true })
  }
}

interface Content extends ReplaceOptions {
  readonly data: string | Uint8Array
}

async function writeTemporaryFile(
  temporary: string,
  target: string,
  { data, mode, durability }: Content,
): Promise<void> {
  const before = await stat(target).catch(() => undefined)
  const closed = before && findWriteProtection(before)
  if (closed !== undefined) throw new WriteProtectedError(closed)
  const file = await open(temporary, 'wx', 0o600)
  try {
    await file.writeFile(data)
    await file.chmod(mode ?? (before === undefined ? 0o600 : before.mode & 0o7777))
    if (durability !== 'process') await file.sync()
  } finally {
    await file.close()
  }
  if (before === undefined) return
  await chown(temporary, before.uid, before.gid).catch(() => {
    throw new WriteProtectedError('its group could not be preserved')
  })
  // Changing the owner of a file clears these bits.
  if (mode === undefined) await chmod(temporary, before.mode & 0o7777)
}

/**
 * Uses the system's wording and code. The system itself reports nothing, because a rename needs no right to the file.
 */
class WriteProtectedError extends Error {
  readonly code = 'EACCES'

  constructor(why: string) {
    super(`EACCES: ${why}`)
  }
}

/** Why a file must not be replaced although its folder would allow it; `undefined` if it may be. */
export function findWriteProtection({ uid, mode }: Pick<Stats, 'uid' | 'mode'>): string | undefined {
  const user = process.geteuid?.()
  if (user !== undefined && uid !== user) return `it belongs to another user (uid ${uid})`
  return (mode & 0o200) === 0 ? 'it is read-only' : undefined
}

/**
 * A name beside the target that contains the pid of the writer, so that the next start can remove what a killed writer
 * left.
 */
export const temporaryName = (target: string): string =>
  `.${basename(target)}.${process.pid}-${randomBytes(6).toString('hex')}.sallyport-tmp`

/** The path behind all symbolic links, whether the file exists or not. A loop of links is an error of `realpath`. */
async function resolveLink(path: string): Promise<string> {
  try {
    return await realpath(path)
  } catch (cause) {
    if (causeCode(cause) !== 'ENOENT') throw cause
  }
  const link = await readlink(path).catch(() => undefined)
  return link === undefined ? path : resolveLink(resolve(dirname(path), link))
}

function isAbandoned(path: string, pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
  } catch (cause) {
    if (causeCode(cause) === 'ESRCH') return true
  }
  const written = statSync(path, { throwIfNoEntry: false })?.mtimeMs
  return written !== undefined && Date.now() - written > MAX_LEFTOVER_AGE_MS
}

/** Whether a file is as it was when it was read; `undefined`: it does not exist. */
export const isSameContent = (a: Buffer | undefined, b: Buffer | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && a.equals(b))
