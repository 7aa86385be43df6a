import { constants } from 'node:fs'
import type { SessionKey } from '../keys/keys.ts'
import { type FindOptions, type FoundFiles, findFiles } from './find-files.ts'
import { type DirectoryPage, listPage } from './list-directory.ts'
import { type FilePage, type OpenFile, openFile, readPage } from './open-file.ts'
import type { Page } from './page.ts'
import { DEFAULT_WORKSPACE_LIMITS, type WorkspaceLimits } from './quota.ts'
import { hideHostPath } from './refusals.ts'
import { chooseSafeOpen, findRoot, type OpenedEntry, reachRoot, type WorkspaceRoot } from './safe-open.ts'
import { createFileSeal, type FileSeal, type SealOptions } from './sealed-files.ts'
import { useEntry, type WorkspaceTree } from './walk-tree.ts'
import { createChanges, type WorkspaceChanges } from './workspace-changes.ts'
import { formatWorkspacePath, parseWorkspacePath } from './workspace-path.ts'

/** What is known about a file or directory without reading it. */
export interface EntryFacts {
  readonly path: string
  readonly kind: 'file' | 'directory'
  /** Of a file, in bytes. */
  readonly size?: number
  readonly modified: Date
}

/** Files below one directory of the host. The host path never appears: all paths begin with /workspace. */
export interface Workspace extends WorkspaceChanges {
  readFile(path: string, page?: Page): Promise<FilePage>
  /** Opens one file for reading in any number of pieces; it is closed afterwards. */
  useFile<Value>(path: string, use: (file: OpenFile) => Promise<Value>): Promise<Value>
  listDirectory(path: string, page?: Page): Promise<DirectoryPage>
  findFiles(path: string, options?: FindOptions): Promise<FoundFiles>
  stat(path: string): Promise<EntryFacts>
}

/** The settings of a workspace. */
export interface WorkspaceOptions {
  /** Decides how files are opened; see safe-open.ts. */
  readonly platform?: NodeJS.Platform
  readonly limits?: Partial<WorkspaceLimits>
  /** Encrypts the files below /workspace/results. If missing, nothing is encrypted. */
  readonly sessionKey?: SessionKey
  /** Encrypts all other files as well that are written while this is true. Default: never. */
  readonly isPrivate?: () => Promise<boolean>
}

/**
 * The directory is the one that the path leads to now, or at the first use if it does not exist yet. Another directory
 * in its place later is refused.
 */
export function createWorkspace(root: string, options: WorkspaceOptions = {}): Workspace {
  let held = findRoot(root)
  const holdRoot = (): Promise<WorkspaceRoot> =>
    reachRoot(async () => {
      held ??= findRoot(root)
      if (held === undefined) throw new Error('the directory does not exist')
      return held
    })
  const safeOpen = chooseSafeOpen(options.platform ?? process.platform)
  return createOperations({ root, holdRoot, safeOpen, seal: createFileSeal(options) }, options)
}

/** The workspace of a directory that was already found. */
export function createWorkspaceAt(root: WorkspaceRoot, sealing: SealOptions): Workspace {
  const safeOpen = chooseSafeOpen(process.platform)
  const seal = createFileSeal(sealing)
  return createOperations({ root: root.path, holdRoot: async () => root, safeOpen, seal }, {})
}

function createOperations(tree: WorkspaceTree, { limits }: WorkspaceOptions): Workspace {
  const { seal } = tree
  const within = <Value>(path: string, use: (entry: OpenedEntry, at: readonly string[]) => Promise<Value>) =>
    withHostHidden(path, (segments) => useEntry(tree, segments, (entry) => use(entry, segments)))
  const open = (entry: OpenedEntry, at: readonly string[]): Promise<OpenFile> => seal.open(at, openFile(entry))
  return {
    readFile: (path, page = {}) => within(path, async (entry, at) => readPage(await open(entry, at), page)),
    useFile: (path, use) => within(path, async (entry, at) => use(await open(entry, at))),
    listDirectory: (path, page = {}) =>
      within(path, (entry, at) => listPage(entry, page, (name, size) => sizeOfChild(seal, entry, { at, name, size }))),
    findFiles: (path, options = {}) => withHostHidden(path, (segments) => findFiles(tree, segments, options)),
    stat: (path) => within(path, async (entry, at) => toEntryFacts(entry, at, seal)),
    ...createChanges(tree, { ...DEFAULT_WORKSPACE_LIMITS, ...limits }),
  }
}

async function toEntryFacts(entry: OpenedEntry, at: readonly string[], seal: FileSeal): Promise<EntryFacts> {
  const { stats } = entry
  const [path, modified] = [formatWorkspacePath(at), stats.mtime]
  if (!stats.isFile()) return { path, kind: 'directory', modified }
  return { path, kind: 'file', size: await seal.sizeOf(at, stats.size, (use) => use(openFile(entry))), modified }
}

interface ListedFile {
  readonly at: readonly string[]
  readonly name: string
  readonly size: number
}

const sizeOfChild = (seal: FileSeal, parent: OpenedEntry, { at, name, size }: ListedFile): Promise<number> =>
  seal.sizeOf([...at, name], size, async (use) => {
    const entry = await parent.openChild(name, constants.O_RDONLY)
    try {
      return await use(openFile(entry))
    } finally {
      await entry.handle.close()
    }
  })

/** Errors contain the agent's path. */
async function withHostHidden<Value>(
  path: string,
  work: (segments: readonly string[]) => Promise<Value>,
): Promise<Value> {
  const segments = parseWorkspacePath(path)
  try {
    return await work(segments)
  } catch (error) {
    throw hideHostPath(error, formatWorkspacePath(segments))
  }
}
