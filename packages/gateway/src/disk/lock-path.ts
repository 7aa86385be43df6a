import { randomBytes } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { open, readFile, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { removeStaleTempFiles } from './atomic-file.ts'
import { causeCode } from './disk-errors.ts'

/** The lock file of a file, beside it. Two paths to one file share one lock. */
export function resolveLockPath(path: string): string {
  const target = realPath(path)
  return join(dirname(target), `.${basename(target)}.lock`)
}

/**
 * Removes what killed writers left beside a file. A lock that was never released can be taken over after a while, which
 * removes it.
 */
export async function removeStaleWriterFiles(path: string): Promise<void> {
  removeStaleTempFiles(dirname(realPath(path)))
  const lock = resolveLockPath(path)
  if (existsSync(lock)) await withLockFile(lock, async () => undefined)
}

function realPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}

const RETRY_MS = 10
/** Work under a lock takes milliseconds: an older lock was left by a process that died. */
const STALE_MS = 5_000

/** Whether the lock is still ours: a holder that took too long may have lost it. */
type IsHeld = () => Promise<boolean>

/**
 * Allows one writer at a time among all processes. An abandoned lock is removed after a while. If two writers should
 * both hold one, the one that checks `isHeld` right before its change finds out.
 */
export async function withLockFile<Result>(lock: string, work: (isHeld: IsHeld) => Promise<Result>): Promise<Result> {
  const mark = randomBytes(12).toString('hex')
  while (!(await acquire(lock, mark))) {
    await removeStaleLock(lock)
    await wait(RETRY_MS)
  }
  const isHeld = async (): Promise<boolean> => (await readFile(lock, 'utf8').catch(() => '')) === mark
  try {
    return await work(isHeld)
  } finally {
    if (await isHeld()) await rm(lock, { force: true })
  }
}

async function acquire(lock: string, mark: string): Promise<boolean> {
  const file = await open(lock, 'wx', 0o600).catch((error: unknown) => {
    if (causeCode(error) === 'EEXIST') return undefined
    throw error
  })
  if (file === undefined) return false
  try {
    await file.writeFile(mark)
  } catch (error) {
    // A full disk creates the name but not the content: then nobody could see whose lock it is.
    await rm(lock, { force: true })
    throw error
  } finally {
    await file.close()
  }
  return true
}

async function removeStaleLock(lock: string): Promise<void> {
  const found = await stat(lock).catch(() => undefined)
  if (found !== undefined && Date.now() - found.mtimeMs > STALE_MS) await rm(lock, { force: true })
}
