import { createHash } from 'node:crypto'
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Much longer than any token is valid. */
const KEEP_MS = 10 * 60_000

/**
 * Marks a token as used. Returns false if it was used before: by any process with this folder, also before a restart.
 * Each mark is an empty file, which exactly one process can create.
 */
export async function spendToken(folder: string, tokenId: string): Promise<boolean> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await removeOldMarks(folder)
  try {
    const mark = await open(join(folder, createHash('sha256').update(tokenId).digest('hex')), 'wx', 0o600)
    await mark.close()
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

async function removeOldMarks(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const path = join(folder, name)
    // Another process may have removed it already.
    const found = await stat(path).catch(() => undefined)
    if (found !== undefined && Date.now() - found.mtimeMs > KEEP_MS) await rm(path, { force: true })
  }
}
