import { randomUUID } from 'node:crypto'
import { constants, statSync } from 'node:fs'
import { type FileHandle, link, mkdir, open, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** The platforms that cannot sync a folder say so with one of these. */
const FOLDER_SYNC_REFUSED = new Set(['EINVAL', 'EISDIR', 'EPERM', 'ENOTSUP'])
/** How file systems without hard links refuse one. */
const LINK_REFUSED = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/**
 * The names in a folder; one that is not there has none. That is looked up at once, since most sessions never have one
 * and every result of theirs asks.
 */
export async function listNames(folder: string): Promise<readonly string[]> {
  return isMissing(folder) ? [] : readdir(folder)
}

function isMissing(folder: string): boolean {
  try {
    // Not with `throwIfNoEntry: false`: from Node 24 on that is silent about ENOTDIR as well, which is no answer.
    statSync(folder)
    return false
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return true
    throw error
  }
}

/** The whole of a small regular file. What else may lie there is never waited for: a FIFO has no end. */
export async function readSmallFile(path: string, limit: number): Promise<string> {
  const file = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0))
  try {
    const stats = await file.stat()
    if (!stats.isFile() || stats.size > limit) return ''
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

/**
 * Adds a file for good: it is there whole or not at all, whatever dies meanwhile. One that is there stays as it is.
 * Nothing is ever renamed over, or removed from, the folder, so a listing that runs meanwhile misses nothing.
 */
export async function addFile(path: string, text: string, incoming: string): Promise<void> {
  const temporary = join(incoming, randomUUID())
  try {
    await writeSynced(temporary, text)
    await moveIntoPlace(temporary, path)
  } finally {
    await rm(temporary, { force: true })
  }
  // Also when another process placed it: that one may not have come to this line yet.
  await syncFolder(dirname(path))
}

async function moveIntoPlace(temporary: string, path: string): Promise<void> {
  try {
    await link(temporary, path)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return
    if (!LINK_REFUSED.has(codeOf(error))) throw error
    await rename(temporary, path)
  }
}

async function writeSynced(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Makes the folder, and makes its own name and those of the folders above it durable, from `top` downwards. */
export async function makeDurableFolder(folder: string, top: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 })
  const highest = dirname(first !== undefined && first.length < top.length ? first : top)
  for (let above = dirname(folder); above.length >= highest.length; above = dirname(above)) {
    await syncFolder(above)
    if (above === dirname(above)) return
  }
}

async function syncFolder(path: string): Promise<void> {
  let folder: FileHandle | undefined
  try {
    folder = await open(path, 'r')
    await folder.sync()
  } catch (error) {
    if (!FOLDER_SYNC_REFUSED.has(codeOf(error))) throw error
  } finally {
    await folder?.close()
  }
}

export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
