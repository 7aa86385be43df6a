import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, rename, rmdir, unlink } from 'node:fs/promises'
import { ToolRetryError } from '../retry-fatal-errors.ts'
import { MAX_READ_BYTES, type OpenFile, openFile } from './open-file.ts'
import { checkFileSize, createQuota, type Quota, type Usage, type WorkspaceLimits } from './quota.ts'
import { directoryRefusal, hideHostPath, systemErrorCode, undefinedIfMissing } from './refusals.ts'
import { checkStats, DIRECTORY_MODE, FILE_MODE, type OpenedEntry } from './safe-open.ts'
import { createTemporaryName, isTemporaryName } from './temporary-name.ts'
import { useEntry, type WorkspaceTree, walkTree } from './walk-tree.ts'
import { formatWorkspacePath, parseWorkspacePath } from './workspace-path.ts'

/** A file after it was written. */
export interface WrittenFile {
  readonly path: string
  readonly size: number
  readonly isNew: boolean
}

export interface WorkspaceChanges {
  /** Writes atomically: readers see the old file or the new one. The directory must exist. */
  writeFile(path: string, content: string | Uint8Array): Promise<WrittenFile>
  /** Appends in place; creates the file if it is missing. */
  appendFile(path: string, content: string | Uint8Array): Promise<WrittenFile>
  /** Replaces a UTF-8 text by the result of `change`, unless somebody else changed the file meanwhile. */
  editFile(path: string, change: (text: string) => string): Promise<WrittenFile>
  deleteFile(path: string): Promise<void>
  /** Creates the directory and its parents. An existing directory is fine. */
  makeDirectory(path: string): Promise<void>
  /** Deletes a directory, only if it is empty. */
  deleteDirectory(path: string): Promise<void>
  /** Moves a file, or a directory with its content. Replaces nothing. */
  rename(from: string, to: string): Promise<void>
}

interface ChangeContext {
  readonly tree: WorkspaceTree
  readonly limits: WorkspaceLimits
  readonly space: Quota
}

export function createChanges(tree: WorkspaceTree, limits: WorkspaceLimits): WorkspaceChanges {
  const context: ChangeContext = {
    tree,
    limits,
    space: createQuota(limits, () => measureTree(tree, limits.entries + 1)),
  }
  const at = <Value>(path: string, change: (child: ChildEntry, at: Segments) => Promise<Value>): Promise<Value> =>
    changeEntry(tree, path, change)
  return {
    writeFile: (path, content) => at(path, (child, where) => write(context, child, { where, bytes: toBytes(content) })),
    appendFile: (path, content) =>
      at(path, (child, where) => append(context, child, { where, bytes: toBytes(content) })),
    editFile: (path, change) => at(path, (child, where) => edit(context, child, { where, change })),
    deleteFile: (path) => at(path, (child) => deleteFile(context, child)),
    makeDirectory: (path) => makeDirectories(context, path),
    deleteDirectory: (path) => at(path, (child) => deleteDirectory(context, child)),
    rename: (from, to) => moveEntry(tree, from, to),
  }
}

/** The names of a path below /workspace. */
type Segments = readonly string[]

const toBytes = (content: string | Uint8Array): Uint8Array =>
  typeof content === 'string' ? Buffer.from(content) : content

async function changeEntry<Value>(
  tree: WorkspaceTree,
  path: string,
  change: (child: ChildEntry, at: Segments) => Promise<Value>,
): Promise<Value> {
  const segments = parseWorkspacePath(path)
  try {
    return await changeInOrder(tree, segments, (child) => change(child, segments))
  } catch (error) {
    throw hideHostPath(error, formatWorkspacePath(segments))
  }
}

/** Within this process, changes to one path run one after the other, so that none is lost. */
async function changeInOrder<Value>(
  tree: WorkspaceTree,
  segments: readonly string[],
  change: (child: ChildEntry) => Promise<Value>,
): Promise<Value> {
  const name = segments.at(-1)
  if (name === undefined) throw new ToolRetryError('This is the workspace itself: give a path below it.')
  return runInOrder(`${tree.root}\0${segments.join('/')}`, () =>
    useEntry(tree, segments.slice(0, -1), (parent) => change(toChild(parent, name))),
  )
}

function toChild(parent: OpenedEntry, name: string): ChildEntry {
  if (!parent.stats.isDirectory()) throw new ToolRetryError('a part of the path is not a directory, or is a link.')
  return { parent, name }
}

interface NewContent {
  readonly where: Segments
  readonly bytes: Uint8Array
}

async function write(context: ChangeContext, child: ChildEntry, content: NewContent): Promise<WrittenFile> {
  const before = await inspectFile(child)
  const isSealed = await context.tree.seal.mustSeal(content.where)
  return replace(context, child, { ...content, before, isSealed, strictness: 'whatever' })
}

async function replace(
  { tree, limits, space }: ChangeContext,
  child: ChildEntry,
  content: NewContent & Pick<Replacement, 'before' | 'strictness'> & { readonly isSealed: boolean },
): Promise<WrittenFile> {
  const { where, before, isSealed, strictness } = content
  const { length: size } = content.bytes
  checkFileSize(size, limits)
  const bytes = isSealed ? await tree.seal.seal(where, content.bytes) : content.bytes
  const growth = { bytes: bytes.length - (before?.size ?? 0), entries: before === undefined ? 1 : 0 }
  await space.reserve(growth, () => replaceFile(child, { bytes, before, strictness }))
  return { path: formatWorkspacePath(where), size, isNew: before === undefined }
}

async function append(context: ChangeContext, child: ChildEntry, { where, bytes }: NewContent): Promise<WrittenFile> {
  const { tree, limits, space } = context
  const before = await inspectFile(child)
  const isSealed = await useChild(child, before, (file) => tree.seal.mustSeal(where, file))
  // Nothing can be appended to encrypted bytes.
  if (isSealed && before !== undefined) {
    const { content, stats } = await readForEdit(context, child, { where, maxBytes: limits.fileBytes })
    const both = Buffer.concat([content, bytes])
    return replace(context, child, { where, bytes: both, before: stats, isSealed, strictness: 'unchanged' })
  }
  if (isSealed) return replace(context, child, { where, bytes, before, isSealed, strictness: 'unchanged' })
  checkFileSize((before?.size ?? 0) + bytes.length, limits)
  const growth = { bytes: bytes.length, entries: before === undefined ? 1 : 0 }
  const size = await space.reserve(growth, () => appendToFile(child, bytes))
  return { path: formatWorkspacePath(where), size, isNew: before === undefined }
}

async function edit(
  context: ChangeContext,
  child: ChildEntry,
  { where, change }: { readonly where: Segments; readonly change: (text: string) => string },
): Promise<WrittenFile> {
  const { content, stats } = await readForEdit(context, child, { where, maxBytes: MAX_READ_BYTES })
  const text = decode(content)
  const changed = change(text)
  if (changed === text) return { path: formatWorkspacePath(where), size: content.length, isNew: false }
  const isSealed = await useChild(child, stats, (file) => context.tree.seal.mustSeal(where, file))
  const bytes = Buffer.from(changed)
  return replace(context, child, { where, bytes, before: stats, isSealed, strictness: 'unchanged' })
}

async function deleteFile({ space }: ChangeContext, child: ChildEntry): Promise<void> {
  const before = await inspectFile(child)
  await child.parent.confirm()
  await unlink(hostPathOf(child))
  space.release({ bytes: before?.size ?? 0, entries: 1 })
}

async function deleteDirectory({ space }: ChangeContext, child: ChildEntry): Promise<void> {
  const before = await inspectEntry(child)
  if (before?.isFile()) throw new ToolRetryError('The path names a file, not a directory.')
  await child.parent.confirm()
  await rmdir(hostPathOf(child))
  space.release({ bytes: 0, entries: 1 })
}

/** Each directory is opened and checked before the next is created in it. */
async function makeDirectories(context: ChangeContext, path: string): Promise<void> {
  const segments = parseWorkspacePath(path)
  try {
    for (let depth = 0; depth < segments.length; depth++)
      await useEntry(context.tree, segments.slice(0, depth), (parent) =>
        makeDirectory(context, toChild(parent, segments[depth] as string)),
      )
    await useEntry(context.tree, segments, async (entry) => toChild(entry, '.'))
  } catch (error) {
    throw hideHostPath(error, formatWorkspacePath(segments))
  }
}

async function makeDirectory({ space }: ChangeContext, child: ChildEntry): Promise<void> {
  if ((await undefinedIfMissing(lstat(hostPathOf(child)))) !== undefined) return
  await space.reserve({ bytes: 0, entries: 1 }, async () => {
    await child.parent.confirm()
    try {
      await mkdir(hostPathOf(child), DIRECTORY_MODE)
    } catch (error) {
      if (systemErrorCode(error) !== 'EEXIST') throw error
    }
  })
}

/** Paths are locked in a fixed order, so that two moves in opposite directions do not deadlock. */
async function moveEntry(tree: WorkspaceTree, from: string, to: string): Promise<void> {
  const [source, target] = [parseWorkspacePath(from), parseWorkspacePath(to)]
  const [fromPath, toPath] = [formatWorkspacePath(source), formatWorkspacePath(target)]
  if (fromPath === toPath) throw new ToolRetryError(`${fromPath} would be moved to itself.`)
  // Each is encrypted under its own name.
  if (tree.seal.isResult(source) || tree.seal.isResult(target))
    throw new ToolRetryError('Stored results cannot be moved, and nothing can be moved to them: write a copy.')
  try {
    if (fromPath < toPath)
      await changeInOrder(tree, source, (here) => changeInOrder(tree, target, (there) => moveTo(here, there)))
    else await changeInOrder(tree, target, (there) => changeInOrder(tree, source, (here) => moveTo(here, there)))
    tree.seal.noteMove(source, target)
  } catch (error) {
    throw hideHostPath(error, `${fromPath} to ${toPath}`)
  }
}

async function moveTo(source: ChildEntry, target: ChildEntry): Promise<void> {
  if ((await inspectEntry(source)) === undefined)
    throw new ToolRetryError('there is no such file or directory to move.')
  if ((await undefinedIfMissing(lstat(hostPathOf(target)))) !== undefined)
    throw new ToolRetryError('there is already a file or directory of that name.')
  await source.parent.confirm()
  await target.parent.confirm()
  await rename(hostPathOf(source), hostPathOf(target))
}

const lastByKey = new Map<string, Promise<void>>()

/** Within this process, work with the same key runs one after the other, in order of arrival. */
async function runInOrder<Value>(key: string, work: () => Promise<Value>): Promise<Value> {
  const mine = (lastByKey.get(key) ?? Promise.resolve()).then(work)
  const settled = mine.then(
    () => undefined,
    () => undefined,
  )
  lastByKey.set(key, settled)
  try {
    return await mine
  } finally {
    if (lastByKey.get(key) === settled) lastByKey.delete(key)
  }
}

interface EditableContent {
  readonly content: Buffer
  readonly stats: Stats
}

async function readForEdit(
  { tree }: ChangeContext,
  { parent, name }: ChildEntry,
  { where, maxBytes }: { readonly where: Segments; readonly maxBytes: number },
): Promise<EditableContent> {
  const entry = await parent.openChild(name, constants.O_RDONLY)
  try {
    const { size, read } = await tree.seal.open(where, openFile(entry))
    if (size > maxBytes) throw new ToolRetryError(`The file has ${size} bytes; at most ${maxBytes} can be edited.`)
    const pieces: Buffer[] = []
    for (let offset = 0; offset < size; offset += MAX_READ_BYTES)
      pieces.push(await read(offset, Math.min(MAX_READ_BYTES, size - offset)))
    return { content: Buffer.concat(pieces), stats: entry.stats }
  } finally {
    await entry.handle.close()
  }
}

/** Uses what is there before a change, if it is a file. */
async function useChild<Value>(
  { parent, name }: ChildEntry,
  before: Stats | undefined,
  use: (file?: OpenFile) => Promise<Value>,
): Promise<Value> {
  if (before === undefined) return use()
  const entry = await parent.openChild(name, constants.O_RDONLY)
  try {
    return await use(openFile(entry))
  } finally {
    await entry.handle.close()
  }
}

/** Invalid UTF-8 would be destroyed by writing the text back. */
function decode(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new ToolRetryError('The file is not UTF-8 text, so it cannot be edited as text.', { cause })
  }
}

/** No write takes this long: the process that created such a file was killed. */
const STALE_MS = 3_600_000

/** Measures a workspace, up to `maxEntries` entries, and removes files that killed writers left behind. */
async function measureTree(tree: WorkspaceTree, maxEntries: number): Promise<Usage> {
  let bytes = 0
  let entries = 0
  for await (const { entry, segments } of walkTree(tree, [], maxEntries)) {
    bytes += entry.size ?? 0
    entries++
    if (isTemporaryName(entry.name)) await removeStale(tree, segments)
  }
  return { bytes, entries }
}

async function removeStale(tree: WorkspaceTree, segments: readonly string[]): Promise<void> {
  await useEntry(tree, segments.slice(0, -1), async ({ location }) => {
    const name = `${location}/${segments.at(-1)}`
    const stats = await undefinedIfMissing(lstat(name))
    if (stats !== undefined && Date.now() - stats.mtimeMs > STALE_MS) await undefinedIfMissing(unlink(name))
  })
}

/** A name in an opened directory. */
interface ChildEntry {
  readonly parent: OpenedEntry
  readonly name: string
}

interface Replacement {
  readonly bytes: Uint8Array
  /** The previous entry, from `inspectFile`. */
  readonly before: Stats | undefined
  /** Whether it must still be there, unchanged, when it is replaced. */
  readonly strictness: 'unchanged' | 'whatever'
}

/** The entry of that name, if it may be changed; `undefined` if it does not exist. */
async function inspectEntry({ parent, name }: ChildEntry): Promise<Stats | undefined> {
  const stats = await undefinedIfMissing(lstat(`${parent.location}/${name}`))
  if (stats !== undefined) checkStats(stats)
  return stats
}

async function inspectFile(child: ChildEntry): Promise<Stats | undefined> {
  const stats = await inspectEntry(child)
  if (stats?.isDirectory()) throw directoryRefusal()
  return stats
}

/**
 * Writes a new file beside the old one and renames it. An existing file is never opened for writing, so anything that is
 * put under that name meanwhile (a link, a FIFO) is replaced and not written through; readers see the old
 * file or the new one. Of two concurrent writers the later one wins completely.
 */
async function replaceFile(child: ChildEntry, { bytes, before, strictness }: Replacement): Promise<void> {
  const temporary = { parent: child.parent, name: createTemporaryName() }
  const made = await writeTemporary(temporary, bytes, before)
  try {
    if (strictness === 'unchanged') assertUnchanged(before, await inspectEntry(child))
    await child.parent.confirm()
    await rename(hostPathOf(temporary), hostPathOf(child))
  } catch (error) {
    await undefinedIfMissing(unlink(hostPathOf(temporary)))
    throw error
  }
  if ((await undefinedIfMissing(lstat(hostPathOf(child))))?.ino !== made.ino)
    throw new ToolRetryError('The file was replaced by somebody else while it was written.')
}

async function writeTemporary(child: ChildEntry, bytes: Uint8Array, before: Stats | undefined): Promise<Stats> {
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW
  const handle = await open(hostPathOf(child), flags, FILE_MODE)
  try {
    await writeFully(handle, bytes)
    if (before !== undefined) await handle.chmod(before.mode & 0o777)
    // The name must not reach the disk before the content does.
    await handle.datasync()
    return await handle.stat()
  } catch (error) {
    await undefinedIfMissing(unlink(hostPathOf(child)))
    throw error
  } finally {
    await handle.close()
  }
}

/** Appends in place, also if others append: the descriptor is checked before the first byte is written. */
async function appendToFile({ parent, name }: ChildEntry, bytes: Uint8Array): Promise<number> {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT
  const { handle, stats } = await parent.openChild(name, flags)
  try {
    if (stats.isDirectory()) throw directoryRefusal()
    await writeFully(handle, bytes)
    const named = await undefinedIfMissing(lstat(hostPathOf({ parent, name })))
    if (named?.ino !== stats.ino)
      throw new ToolRetryError('The file was replaced while it was appended to. Read it again.')
    return (await handle.stat()).size
  } finally {
    await handle.close()
  }
}

async function writeFully(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  let written = 0
  while (written < bytes.length) written += (await handle.write(bytes, written)).bytesWritten
}

function assertUnchanged(before: Stats | undefined, now: Stats | undefined): void {
  const same =
    before?.ino === now?.ino &&
    before?.dev === now?.dev &&
    before?.size === now?.size &&
    before?.mtimeMs === now?.mtimeMs &&
    before?.ctimeMs === now?.ctimeMs
  if (!same) throw new ToolRetryError('The file changed while it was edited. Read it again.')
}

const hostPathOf = ({ parent, name }: ChildEntry): string => `${parent.location}/${name}`
