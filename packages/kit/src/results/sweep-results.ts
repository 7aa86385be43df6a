import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { SessionKeys } from '../keys/keys.ts'
import { createWorkspace, type Workspace } from '../workspace/workspace.ts'
import { DEFAULT_LIMITS, openResultStore } from './result-store.ts'

/** Which results are removed. */
export interface SweepOptions {
  /** The folder with the workspaces of all sessions. */
  readonly workspaces: string
  readonly sessionKeys: SessionKeys
  /** How long results are stored, in milliseconds. Default: 7 days. */
  readonly age?: number | undefined
  readonly now?: () => number
  /** Ends the sweep early. */
  readonly isStopped?: () => boolean
}

/**
 * Removes results that are too old, also of sessions that nobody uses any more. The key of a session without files is
 * destroyed, so that copies of them cannot be read either. What cannot be removed is left to the next sweep.
 */
export async function sweepResults(options: SweepOptions): Promise<void> {
  const { workspaces, sessionKeys, age = DEFAULT_LIMITS.age, now = Date.now, isStopped = () => false } = options
  const owners = new Set<string>(await readdir(workspaces).catch(() => []))
  const keys = listKeys(sessionKeys)
  for (const owner of new Set([...owners, ...keys.keys()])) {
    if (isStopped()) return
    const workspace = createWorkspace(join(workspaces, owner), { sessionKey: sessionKeys.of(owner) })
    try {
      if (owners.has(owner)) {
        await openResultStore({ workspace, limits: { age }, now }).tidy()
        if (await hasFiles(workspace)) continue
      }
      // A key that was used a short time ago may be about to encrypt a result.
      if (now() - (keys.get(owner) ?? now()) > age) await sessionKeys.destroyUnused(owner, now() - age)
    } catch {}
  }
}

function listKeys(sessionKeys: SessionKeys): ReadonlyMap<string, number> {
  try {
    return sessionKeys.list()
  } catch {
    return new Map()
  }
}

/** Any file may be encrypted with the key. */
const hasFiles = async (workspace: Workspace): Promise<boolean> =>
  (await workspace.findFiles('/workspace', { limit: 1 })).files.length > 0
