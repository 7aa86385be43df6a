import { type BigIntStats, constants, lstatSync, realpathSync, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readlink, realpath } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { ToolFatalError, ToolRetryError } from '../retry-fatal-errors.ts'
import { linkRefusal, specialRefusal, toSafeCause } from './refusals.ts'

/** A file or directory that was opened first and checked afterwards, so that nobody can swap it in between. */
export interface OpenedEntry {
  readonly handle: FileHandle
  readonly stats: Stats
  /** The path through which the entries of an opened directory are reached. */
  readonly location: string
  /** Throws if `location` now leads to something else, or is now outside the root. */
  confirm(): Promise<void>
  /** Opens or creates one entry of this directory, with the same checks. */
  openChild(name: string, flags: number): Promise<OpenedEntry>
}

/** The directory of a workspace. Another directory or a link in its place is refused. */
export interface WorkspaceRoot {
  /** The path without links. */
  readonly path: string
  readonly dev: bigint
  readonly ino: bigint
}

/** The directory that a path leads to now; `undefined` if there is none. */
export function findRoot(path: string): WorkspaceRoot | undefined {
  try {
    const real = realpathSync.native(path)
    const stats = lstatSync(real, { bigint: true })
    return stats.isDirectory() ? { path: real, dev: stats.dev, ino: stats.ino } : undefined
  } catch {
    return undefined
  }
}

export const isSameRoot = (one: WorkspaceRoot, other: WorkspaceRoot): boolean =>
  one.path === other.path && one.dev === other.dev && one.ino === other.ino

/** Opens the entry that the segments name below the root. `flags` are those of `open`. Links are never followed. */
export type SafeOpen = (root: WorkspaceRoot, segments: readonly string[], flags: number) => Promise<OpenedEntry>

// A FIFO must not block the open, and a terminal must not become our controlling terminal.
const SAFE_FLAGS = constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY
const DIRECTORY_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY
/** macOS only: the kernel refuses a link anywhere in the path. Node has no constant for it. */
const O_NOFOLLOW_ANY = 0x20000000

/** A workspace belongs to one user. */
export const FILE_MODE = 0o600
export const DIRECTORY_MODE = 0o700

/** On Linux `/proc/self/fd/N/name` looks up one name in an open directory; other systems have only paths. */
export function chooseSafeOpen(platform: NodeJS.Platform): SafeOpen {
  if (platform === 'linux') return openByDescriptor
  const careful = platform === 'darwin' ? SAFE_FLAGS | O_NOFOLLOW_ANY : SAFE_FLAGS
  return (root, segments, flags) => openByName({ root, careful }, segments, flags)
}

const descriptorPath = (handle: FileHandle): string => `/proc/self/fd/${handle.fd}`

/** Walks from descriptor to descriptor, so changes to the names that were already passed have no effect. */
const openByDescriptor: SafeOpen = async (root, segments, flags) => {
  let directory = await reachRoot(() => open(root.path, DIRECTORY_FLAGS | constants.O_NOFOLLOW))
  try {
    await reachRoot(async () => assertSameRoot(root, await directory.stat({ bigint: true })))
    const top = await reachRoot(() => readlink(descriptorPath(directory)))
    for (const segment of segments.slice(0, -1)) {
      const next = await open(`${descriptorPath(directory)}/${segment}`, DIRECTORY_FLAGS | constants.O_NOFOLLOW)
      await directory.close()
      directory = next
    }
    return await openInDescriptor({ top, directory: descriptorPath(directory) }, segments.at(-1) ?? '.', flags)
  } finally {
    await directory.close()
  }
}

interface DescriptorDirectory {
  /** The root's own path. */
  readonly top: string
  readonly directory: string
}

async function openInDescriptor(
  { top, directory }: DescriptorDirectory,
  name: string,
  flags: number,
): Promise<OpenedEntry> {
  const handle = await open(`${directory}/${name}`, flags | SAFE_FLAGS, FILE_MODE)
  const location = descriptorPath(handle)
  // If a directory was moved out of the root while it was open, its own path shows it.
  const confirm = async (): Promise<void> => assertInside(top, await readlink(location))
  return checkOpened(handle, async () => {
    await confirm()
    const openChild = async (child: string, childFlags: number): Promise<OpenedEntry> => {
      await confirm()
      return openInDescriptor({ top, directory: location }, child, childFlags)
    }
    return { location, confirm, openChild }
  })
}

interface NamedRoot {
  readonly root: WorkspaceRoot
  readonly careful: number
}

/**
 * Without a lookup relative to a descriptor, the best way is to open, and then to check that the name still leads,
 * without a link, to what was opened. A swap that is undone before the check is detected by the inode. Two swaps timed
 * around each step are not detected, except on macOS, where the open itself refuses links.
 */
async function openByName(from: NamedRoot, segments: readonly string[], flags: number): Promise<OpenedEntry> {
  const { path: top } = from.root
  const confirmRoot = (): Promise<void> =>
    reachRoot(async () => assertSameRoot(from.root, await lstat(top, { bigint: true })))
  await confirmRoot()
  const location = join(top, ...segments)
  const making = (flags & constants.O_CREAT) !== 0
  await assertNoLinks(top, making ? segments.slice(0, -1) : segments)
  const handle = await open(location, flags | from.careful, FILE_MODE)
  return checkOpened(handle, async (opened) => {
    const confirm = async (): Promise<void> => {
      await confirmRoot()
      await assertNoLinks(top, segments)
      assertInside(top, await realpath(location))
      const named = await lstat(location)
      if (named.dev !== opened.dev || named.ino !== opened.ino)
        throw new ToolRetryError('The path changed while it was opened.')
      // The last lookup went through the root as well.
      await confirmRoot()
    }
    await confirm()
    const openChild = async (name: string, childFlags: number): Promise<OpenedEntry> => {
      await confirm()
      return openByName(from, [...segments, name], childFlags)
    }
    return { location, confirm, openChild }
  })
}

function assertSameRoot(root: WorkspaceRoot, { dev, ino }: BigIntStats): void {
  if (dev !== root.dev || ino !== root.ino) throw new Error('another directory is at the path of the root')
}

/** A fatal error: if the root was replaced or /proc is missing, no other path would help. */
export async function reachRoot<Value>(reach: () => Promise<Value>): Promise<Value> {
  try {
    return await reach()
  } catch (error) {
    throw new ToolFatalError('The workspace cannot be reached.', {
      nextStep: 'Its operator must check it.',
      cause: toSafeCause(error),
    })
  }
}

async function assertNoLinks(top: string, segments: readonly string[]): Promise<void> {
  let path = top
  for (const segment of segments) {
    path = join(path, segment)
    if ((await lstat(path)).isSymbolicLink()) throw linkRefusal()
  }
}

/** Checks an open descriptor, and closes it if a check fails. */
async function checkOpened(
  handle: FileHandle,
  check: (stats: Stats) => Promise<Pick<OpenedEntry, 'location' | 'confirm' | 'openChild'>>,
): Promise<OpenedEntry> {
  try {
    const stats = await handle.stat()
    checkStats(stats)
    return { handle, stats, ...(await check(stats)) }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Refuses anything but directories and files without further hard links. */
export function checkStats(stats: Stats): void {
  if (stats.isSymbolicLink()) throw linkRefusal()
  if (!stats.isFile() && !stats.isDirectory()) throw specialRefusal()
  // Another name of the same file may be outside, where somebody else controls its content.
  if (stats.isFile() && stats.nlink > 1) throw new ToolRetryError('The file has hard links, which are not followed.')
}

function assertInside(top: string, real: string): void {
  const prefix = top.endsWith(sep) ? top : `${top}${sep}`
  if (real !== top && !real.startsWith(prefix)) throw new ToolRetryError('The path leads out of the workspace.')
}
