import { randomUUID } from 'node:crypto'
import { type FileHandle, link, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

/** The error codes of platforms that cannot sync a folder. */
const FOLDER_SYNC_REFUSED = new Set(['EINVAL', 'EISDIR', 'EPERM', 'ENOTSUP'])
/** The error codes of file systems without hard links. */
const LINK_REFUSED = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/**
 * Adds a file permanently: after a crash it is there completely or not at all. An existing file stays as it is.
 * The caller must never replace it, so that a listing at the same time misses nothing.
 */
export async function addFile(path: string, text: string, incoming: string): Promise<void> {
  const temporary = join(incoming, randomUUID())
  try {
    await writeSynced(temporary, text)
    await moveIntoPlace(temporary, path)
  } finally {
    await rm(temporary, { force: true })
  }
  // Also if another process created it: that process may not have synced it yet.
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

/** Creates the folder, and syncs the folders above it from `top` downwards, so that their entries survive a power loss. */
export async function makeDurableFolder(folder: string, top: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 })
  const highest = dirname(first !== undefined && first.length < top.length ? first : top)
  for (let above = dirname(folder); above.length >= highest.length; above = dirname(above)) {
    await syncFolder(above)
    if (above === dirname(above)) return
  }
}

export async function syncFolder(path: string): Promise<void> {
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

/** The code of a system error; empty for other errors. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
