import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { removeStaleTempFiles } from './atomic-file.ts'
import { withLockFile } from './lock-file.ts'

/** The lock of a file beside it. Two ways to one file share one. */
export function lockPathOf(path: string): string {
  const target = realPath(path)
  return join(dirname(target), `.${basename(target)}.lock`)
}

/** Removes what killed writers left beside a file. A lock that nobody gives back can be taken after a while, and is then gone. */
export async function removeStaleWriterFiles(path: string): Promise<void> {
  removeStaleTempFiles(dirname(realPath(path)))
  const lock = lockPathOf(path)
  if (existsSync(lock)) await withLockFile(lock, async () => undefined)
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
