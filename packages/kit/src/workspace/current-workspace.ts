import { mkdirSync, realpathSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { currentScope, ownerFolder } from '../identity/identity.ts'
import type { SessionKeys } from '../keys/keys.ts'
import { ToolFatalError } from '../retry-fatal-errors.ts'
import { createWorkspaceAt, type Workspace } from './create-workspace.ts'
import { toSafeCause } from './refusals.ts'
import { DIRECTORY_MODE, findRoot, isSameRoot, type WorkspaceRoot } from './safe-open.ts'

interface CachedWorkspace {
  readonly workspace: Workspace
  readonly root: WorkspaceRoot
  readonly sessionKeys: SessionKeys
}

const MAX_CACHED = 1_000
const cache = new Map<string, CachedWorkspace>()

/** The workspace of the user and session for which the handler runs. */
export function currentWorkspace(): Workspace {
  return openCurrent().workspace
}

/** The directory of that workspace on the host, for `workspaceToHostPath` and `hostToWorkspacePath`. Not for agents. */
export function currentWorkspaceRoot(): string {
  return openCurrent().root.path
}

function openCurrent(): CachedWorkspace {
  const { dataFolder, sessionKeys, userId, sessionId } = currentScope()
  const path = ownerFolder(join(dataFolder, 'workspaces'), userId, sessionId)
  const root = makeRoot(dataFolder, path)
  const cached = cache.get(root.path)
  if (cached !== undefined && isSameRoot(cached.root, root) && cached.sessionKeys === sessionKeys) return cached
  return cacheWorkspace(root, sessionKeys)
}

/** Only the path to the data folder may contain links: the operator chose it, but everything below it is ours. */
function makeRoot(dataFolder: string, path: string): WorkspaceRoot {
  try {
    mkdirSync(path, { recursive: true, mode: DIRECTORY_MODE })
    const expected = join(realpathSync.native(dataFolder), relative(dataFolder, path))
    const root = findRoot(expected)
    if (root?.path === expected) return root
    throw new Error('a link, or something else, is at the path of the workspace')
  } catch (error) {
    throw new ToolFatalError('The workspace cannot be created.', { cause: toSafeCause(error) })
  }
}

/** Cached because a workspace knows its remaining space. One that was not used for long is measured again. */
function cacheWorkspace(root: WorkspaceRoot, sessionKeys: SessionKeys): CachedWorkspace {
  const [oldest] = cache.keys()
  if (oldest !== undefined && cache.size >= MAX_CACHED) cache.delete(oldest)
  const made = { workspace: createWorkspaceAt(root, sessionKeys.of(basename(root.path))), root, sessionKeys }
  cache.set(root.path, made)
  return made
}
