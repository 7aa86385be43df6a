import { existsSync, mkdirSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { addFile } from '../add-file.ts'
import { ownerFolder, type RequestScope } from '../identity/identity.ts'

type StoredSession = Pick<RequestScope, 'dataFolder' | 'sessionKeys' | 'userId' | 'sessionId'>

/** What was removed of a session. */
interface PurgedData {
  readonly files: number
  /** On the disk. */
  readonly bytes: number
  /** Whether it had a key, which no longer exists. */
  readonly key: boolean
}

/** Has an empty file for each session that stores nothing any more. Its name never comes back. */
const MARKS_FOLDER = 'purged-sessions'
/** A handler of another process may be writing. */
const MAX_RETRIES = 10

const workspaceOf = ({ dataFolder, userId, sessionId }: StoredSession): string =>
  ownerFolder(join(dataFolder, 'workspaces'), userId, sessionId)

const markOf = (session: StoredSession): string =>
  join(session.dataFolder, MARKS_FOLDER, basename(workspaceOf(session)))

/** Whether a session stores nothing any more: what it had was removed, or is being removed. */
export const isPurged = (session: StoredSession): boolean => existsSync(markOf(session))

/**
 * Removes what a session has stored, and lets no process with this data folder store more of it. The key is destroyed
 * first, so that copies of what it has encrypted cannot be read either. Its label stays.
 */
export async function purgeSession(session: StoredSession): Promise<PurgedData> {
  const { dataFolder, sessionKeys } = session
  const root = workspaceOf(session)
  const marks = join(dataFolder, MARKS_FOLDER)
  mkdirSync(marks, { recursive: true, mode: 0o700 })
  await addFile(markOf(session), '', marks)
  const before = await sessionKeys.destroy(basename(root))
  const stored = await measure(root)
  await rm(root, { recursive: true, force: true, maxRetries: MAX_RETRIES, retryDelay: 20 })
  // Whoever was writing may have created a new one.
  const after = await sessionKeys.destroy(basename(root))
  return { ...stored, key: before || after }
}

async function measure(folder: string): Promise<Pick<PurgedData, 'files' | 'bytes'>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter((entry) => !entry.isDirectory())
  let bytes = 0
  for (const { parentPath, name } of files)
    bytes += (await stat(join(parentPath, name)).catch(() => undefined))?.size ?? 0
  return { files: files.length, bytes }
}
