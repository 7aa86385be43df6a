import { mkdirSync, realpathSync, rmdirSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { currentScope, findScope, ownerFolder, type RequestScope } from '../identity/identity.ts'
import type { SessionKeys } from '../keys/keys.ts'
import { hasLabel } from '../private-data/private-data.ts'
import { ToolFatalError } from '../retry-fatal-errors.ts'
import { createWorkspaceAt, type Workspace } from './create-workspace.ts'
import { isPurged } from './purge-session.ts'
import { toSafeCause } from './refusals.ts'
import { DIRECTORY_MODE, findRoot, isSameRoot, type WorkspaceRoot } from './safe-open.ts'
import { formatWorkspacePath } from './workspace-path.ts'

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

/** By call: the files that it has written while its session was public. */
const plainWrites = new WeakMap<RequestScope, Map<string, Workspace>>()

function notePlainWrite(workspace: Workspace, path: string): void {
  const scope = findScope()
  if (scope === undefined) return
  const written = plainWrites.get(scope) ?? new Map<string, Workspace>()
  plainWrites.set(scope, written.set(path, workspace))
}

function noteMove(from: string, to: string): void {
  const scope = findScope()
  const written = scope && plainWrites.get(scope)
  for (const [path, workspace] of [...(written ?? [])])
    if (path === from || path.startsWith(`${from}/`)) written?.set(`${to}${path.slice(from.length)}`, workspace)
}

/**
 * Encrypts the files that the running call has written before it said that its session holds private data. Files of
 * earlier calls have no such data.
 */
export async function sealEarlierWrites(): Promise<void> {
  const scope = findScope()
  const written = scope && plainWrites.get(scope)
  if (scope === undefined || written === undefined || !(await hasLabel(scope))) return
  plainWrites.delete(scope)
  for (const [path, workspace] of written) {
    const isThere = await workspace.stat(path).catch(() => undefined)
    if (isThere?.kind === 'file') await workspace.appendFile(path, '')
  }
}

/** The directory of that workspace on the host, for `workspaceToHostPath` and `hostToWorkspacePath`. Not for agents. */
export function currentWorkspaceRoot(): string {
  return openCurrent().root.path
}

function openCurrent(): CachedWorkspace {
  const scope = currentScope()
  const { dataFolder, sessionKeys, userId, sessionId } = scope
  const path = ownerFolder(join(dataFolder, 'workspaces'), userId, sessionId)
  if (isPurged(scope)) throw sessionEnded()
  const root = makeRoot(dataFolder, path)
  if (isPurged(scope)) {
    // It was marked after the first check, and its folder may have been removed before this one was created.
    removeEmpty(path)
    throw sessionEnded()
  }
  const cached = cache.get(root.path)
  if (cached !== undefined && isSameRoot(cached.root, root) && cached.sessionKeys === sessionKeys) return cached
  return cacheWorkspace(root, scope)
}

const sessionEnded = (): ToolFatalError =>
  new ToolFatalError('This session has ended, and what it had stored was removed.', {
    nextStep: 'Continue in a new session.',
  })

function removeEmpty(path: string): void {
  try {
    rmdirSync(path)
  } catch {
    // Whoever removes the session removes it.
  }
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
function cacheWorkspace(root: WorkspaceRoot, scope: RequestScope): CachedWorkspace {
  const { sessionKeys } = scope
  const [oldest] = cache.keys()
  if (oldest !== undefined && cache.size >= MAX_CACHED) cache.delete(oldest)
  const workspace = createWorkspaceAt(root, {
    sessionKey: sessionKeys.of(basename(root.path)),
    isPrivate: () => hasLabel(scope),
    onPlainWrite: (segments) => notePlainWrite(workspace, formatWorkspacePath(segments)),
    onMoved: (from, to) => noteMove(formatWorkspacePath(from), formatWorkspacePath(to)),
  })
  const made: CachedWorkspace = { workspace, root, sessionKeys }
  cache.set(root.path, made)
  return made
}
