import { constants } from 'node:fs'
import { type FileHandle, lstat, opendir } from 'node:fs/promises'
import { ToolFatalError, ToolRetryError } from '../tool-error.ts'
import { chooseSafeOpen, linkRefusal, type OpenedEntry, type SafeOpen, specialRefusal } from './safe-open.ts'
import { readWorkspacePath, workspacePath } from './workspace-path.ts'

export interface Page {
  readonly offset?: number
  readonly limit?: number
}

export interface FilePage {
  readonly bytes: Buffer
  /** Of the whole file. */
  readonly size: number
  readonly offset: number
}

export interface DirectoryEntry {
  readonly name: string
  readonly kind: 'file' | 'directory' | 'link' | 'other'
  /** Of files, in bytes. */
  readonly size?: number
}

export interface DirectoryPage {
  readonly entries: readonly DirectoryEntry[]
  readonly total: number
  readonly offset: number
  /** The directory has more names than are ever listed; `total` counts those that are. */
  readonly overfull: boolean
}

/** Files below one directory of the host, which is never named: paths begin with /workspace, in and out. */
export interface Workspace {
  readFile(path: string, page?: Page): Promise<FilePage>
  listDirectory(path: string, page?: Page): Promise<DirectoryPage>
}

export interface WorkspaceOptions {
  /** Decides how files are opened; see safe-open.ts. */
  readonly platform?: NodeJS.Platform
}

const MAX_READ_BYTES = 16 * 1024 * 1024
const MAX_NAMES = 10_000

export function createWorkspace(root: string, { platform = process.platform }: WorkspaceOptions = {}): Workspace {
  const safeOpen = chooseSafeOpen(platform)
  const within = <Value>(path: string, use: (entry: OpenedEntry) => Promise<Value>): Promise<Value> =>
    useEntry(safeOpen, { root, path }, use)
  return {
    readFile: (path, page = {}) => within(path, (entry) => readPage(entry, page)),
    listDirectory: (path, page = {}) => within(path, (entry) => listPage(entry, page)),
  }
}

async function useEntry<Value>(
  safeOpen: SafeOpen,
  { root, path }: { readonly root: string; readonly path: string },
  use: (entry: OpenedEntry) => Promise<Value>,
): Promise<Value> {
  const segments = readWorkspacePath(path)
  try {
    const entry = await safeOpen(root, segments, constants.O_RDONLY)
    try {
      return await use(entry)
    } finally {
      await entry.handle.close()
    }
  } catch (error) {
    throw hideHost(error, workspacePath(segments))
  }
}

async function readPage({ handle, stats }: OpenedEntry, page: Page): Promise<FilePage> {
  if (stats.isDirectory()) throw new ToolRetryError('The path names a directory, not a file.')
  const { offset, limit } = boundPage(page, MAX_READ_BYTES)
  return {
    bytes: await readFully(handle, offset, Math.min(limit, Math.max(0, stats.size - offset))),
    size: stats.size,
    offset,
  }
}

function boundPage({ offset = 0, limit = Number.MAX_SAFE_INTEGER }: Page, most: number): Required<Page> {
  for (const [name, value] of Object.entries({ offset, limit }))
    if (!Number.isSafeInteger(value) || value < 0)
      throw new ToolRetryError(`The ${name} is ${value}; expected a whole number from 0.`)
  return { offset, limit: Math.min(limit, most) }
}

/** A file may shrink while it is read: the bytes are those that were there. */
async function readFully(handle: FileHandle, offset: number, length: number): Promise<Buffer> {
  const bytes = Buffer.alloc(length)
  let filled = 0
  while (filled < length) {
    const { bytesRead } = await handle.read(bytes, filled, length - filled, offset + filled)
    if (bytesRead === 0) break
    filled += bytesRead
  }
  return bytes.subarray(0, filled)
}

async function listPage(entry: OpenedEntry, page: Page): Promise<DirectoryPage> {
  if (!entry.stats.isDirectory()) throw new ToolRetryError('The path names a file, not a directory.')
  const { offset, limit } = boundPage(page, MAX_NAMES)
  const names: string[] = []
  let overfull = false
  for await (const { name } of await opendir(entry.location)) {
    overfull = names.length === MAX_NAMES
    if (overfull) break
    names.push(name)
  }
  names.sort()
  const entries = await describeEntries(entry.location, names.slice(offset, offset + limit))
  await entry.confirm()
  return { entries, total: names.length, offset, overfull }
}

async function describeEntries(location: string, names: readonly string[]): Promise<readonly DirectoryEntry[]> {
  const entries: DirectoryEntry[] = []
  for (const name of names) {
    const entry = await describeEntry(location, name)
    if (entry !== undefined) entries.push(entry)
  }
  return entries
}

/** Nothing when it is gone since its name was read. */
async function describeEntry(location: string, name: string): Promise<DirectoryEntry | undefined> {
  try {
    const stats = await lstat(`${location}/${name}`)
    if (stats.isFile()) return { name, kind: 'file', size: stats.size }
    if (stats.isDirectory()) return { name, kind: 'directory' }
    return { name, kind: stats.isSymbolicLink() ? 'link' : 'other' }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Node's own errors carry the path on the host in their text: none of it may reach an agent. */
function hideHost(error: unknown, path: string): unknown {
  if (error instanceof ToolRetryError) return new ToolRetryError(`${path}: ${error.message}`, { cause: error.cause })
  switch (codeOf(error)) {
    case undefined:
      return error
    case 'ENOENT':
      return new ToolRetryError(`${path}: there is no such file or directory.`, { cause: error })
    case 'ELOOP':
      return new ToolRetryError(`${path}: ${linkRefusal().message}`, { cause: error })
    case 'ENOTDIR':
      return new ToolRetryError(`${path}: a part of the path is no directory, or is a link.`, { cause: error })
    case 'ENXIO':
    case 'ENODEV':
      return new ToolRetryError(`${path}: ${specialRefusal().message}`, { cause: error })
    case 'EACCES':
    case 'EPERM':
      return new ToolRetryError(`${path}: the file system denies access.`, { cause: error })
    case 'ENAMETOOLONG':
      return new ToolRetryError(`${path}: a name in the path is too long.`, { cause: error })
    default:
      return new ToolFatalError(`${path}: the file system failed (${codeOf(error)}).`, { cause: error })
  }
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}
