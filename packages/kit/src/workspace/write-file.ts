import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, rename, unlink } from 'node:fs/promises'
import { ToolRetryError } from '../agent-error.ts'
import { directoryRefusal, undefinedIfMissing } from './refusals.ts'
import { checkStats, FILE_MODE, type OpenedEntry } from './safe-open.ts'
import { createTemporaryName } from './temporary-name.ts'

/** A name in an opened directory. */
export interface ChildEntry {
  readonly parent: OpenedEntry
  readonly name: string
}

export interface Replacement {
  readonly bytes: Uint8Array
  /** What stood there before, by `lookAt`. */
  readonly before: Stats | undefined
  /** Whether it must still stand there, unchanged, when it is replaced. */
  readonly strictness: 'unchanged' | 'whatever'
}

/** The entry of that name, when it is one that may be touched; nothing when there is none. */
export async function inspectEntry({ parent, name }: ChildEntry): Promise<Stats | undefined> {
  const stats = await undefinedIfMissing(lstat(`${parent.location}/${name}`))
  if (stats !== undefined) checkStats(stats)
  return stats
}

export async function inspectFile(place: ChildEntry): Promise<Stats | undefined> {
  const stats = await inspectEntry(place)
  if (stats?.isDirectory()) throw directoryRefusal()
  return stats
}

/**
 * Writes a new file beside the old one and gives it the name. Nothing that was there is ever opened for writing, so
 * whatever is put under that name meanwhile (a link, a FIFO) is replaced and not written through; readers see the old
 * file or the new one. Of two writers at once the later one wins, whole.
 */
export async function replaceFile(place: ChildEntry, { bytes, before, strictness }: Replacement): Promise<void> {
  const temporary = { parent: place.parent, name: createTemporaryName() }
  const made = await writeTemporary(temporary, bytes, before)
  try {
    if (strictness === 'unchanged') assertUnchanged(before, await inspectEntry(place))
    await place.parent.confirm()
    await rename(hostPathOf(temporary), hostPathOf(place))
  } catch (error) {
    await undefinedIfMissing(unlink(hostPathOf(temporary)))
    throw error
  }
  if ((await undefinedIfMissing(lstat(hostPathOf(place))))?.ino !== made.ino)
    throw new ToolRetryError('The file was replaced by somebody else while it was written.')
}

async function writeTemporary(place: ChildEntry, bytes: Uint8Array, before: Stats | undefined): Promise<Stats> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const handle = await open(hostPathOf(place), flags, FILE_MODE)
  try {
    await writeFully(handle, bytes)
    if (before !== undefined) await handle.chmod(before.mode & 0o777)
    // The name must not reach the disk before the content does.
    await handle.datasync()
    return await handle.stat()
  } catch (error) {
    await undefinedIfMissing(unlink(hostPathOf(place)))
    throw error
  } finally {
    await handle.close()
  }
}

/** In place and at the end, whoever else appends: the descriptor is judged before the first byte is written. */
export async function appendToFile({ parent, name }: ChildEntry, bytes: Uint8Array): Promise<number> {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT
  const { handle, stats } = await parent.openChild(name, flags)
  try {
    if (stats.isDirectory()) throw directoryRefusal()
    await writeFully(handle, bytes)
    const named = await undefinedIfMissing(lstat(hostPathOf({ parent, name })))
    if (named?.ino !== stats.ino)
      throw new ToolRetryError('The file was replaced while it was appended to. Look at it.')
    return (await handle.stat()).size
  } finally {
    await handle.close()
  }
}

async function writeFully(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  let written = 0
  while (written < bytes.length) written += (await handle.write(bytes, written)).bytesWritten
}

function assertUnchanged(before: Stats | undefined, now: Stats | undefined): void {
  const same =
    before?.ino === now?.ino &&
    before?.dev === now?.dev &&
    before?.size === now?.size &&
    before?.mtimeMs === now?.mtimeMs &&
    before?.ctimeMs === now?.ctimeMs
  if (!same) throw new ToolRetryError('The file changed while it was edited. Read it again.')
}

export const hostPathOf = ({ parent, name }: ChildEntry): string => `${parent.location}/${name}`
