import { constants } from 'node:fs'
import { ToolRetryError } from '../retry-fatal-errors.ts'
import { type DirectoryEntry, describeEntries, readNames } from './list-directory.ts'
import { systemErrorCode } from './refusals.ts'
import type { OpenedEntry, SafeOpen, WorkspaceRoot } from './safe-open.ts'
import type { FileSeal } from './sealed-files.ts'
import { MAX_PATH_DEPTH } from './workspace-path.ts'

export interface WorkspaceTree {
  readonly safeOpen: SafeOpen
  /** Identifies the workspace. */
  readonly root: string
  /** The directory of the workspace, which stays the same as long as the workspace is used. */
  readonly holdRoot: () => Promise<WorkspaceRoot>
  readonly seal: FileSeal
}

export interface WalkedEntry {
  readonly entry: DirectoryEntry
  readonly segments: readonly string[]
}

const SKIPPED_CODES: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'EPERM'])

/**
 * The entries below a directory, breadth first, at most `maxEntries`. Entries that vanish or turn into a link meanwhile
 * are skipped.
 */
export async function* walkTree(
  tree: WorkspaceTree,
  start: readonly string[],
  maxEntries: number,
): AsyncGenerator<WalkedEntry> {
  const waiting: (readonly string[])[] = [start]
  let left = maxEntries
  for (let at = 0; at < waiting.length && left > 0; at++) {
    const directory = waiting[at] as readonly string[]
    const reading = readEntries(tree, directory, left)
    const entries = directory === start ? await reading : await skipUnreadable(reading)
    left -= entries.length
    for (const entry of entries) {
      const segments = [...directory, entry.name]
      if (entry.kind === 'directory' && segments.length < MAX_PATH_DEPTH) waiting.push(segments)
      yield { entry, segments }
    }
  }
}

const readEntries = (
  tree: WorkspaceTree,
  segments: readonly string[],
  maxEntries: number,
): Promise<readonly DirectoryEntry[]> =>
  useEntry(tree, segments, async (entry) => describeEntries(entry.location, (await readNames(entry, maxEntries)).names))

/** Opens an entry for reading, uses it, and always closes it. */
export async function useEntry<Value>(
  { safeOpen, holdRoot }: WorkspaceTree,
  segments: readonly string[],
  use: (entry: OpenedEntry) => Promise<Value>,
): Promise<Value> {
  const entry = await safeOpen(await holdRoot(), segments, constants.O_RDONLY)
  try {
    return await use(entry)
  } finally {
    await entry.handle.close()
  }
}

async function skipUnreadable(work: Promise<readonly DirectoryEntry[]>): Promise<readonly DirectoryEntry[]> {
  try {
    return await work
  } catch (error) {
    if (error instanceof ToolRetryError || SKIPPED_CODES.has(systemErrorCode(error))) return []
    throw error
  }
}
