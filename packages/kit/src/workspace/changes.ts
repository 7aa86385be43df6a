import type { Stats } from 'node:fs'
import { lstat, mkdir, rename, rmdir, unlink } from 'node:fs/promises'
import { ToolRetryError } from '../agent-error.ts'
import { type EditableText, readForEdit } from './edit-file.ts'
import { measureTree } from './measure.ts'
import { hideHostPath, systemErrorCode, undefinedIfMissing } from './refusals.ts'
import { DIRECTORY_MODE, type OpenedEntry } from './safe-open.ts'
import { checkFileSize, createQuota, type Quota, type WorkspaceLimits } from './space.ts'
import { runInOrder } from './turns.ts'
import { useEntry, type WorkspaceTree } from './walk.ts'
import { formatWorkspacePath, parseWorkspacePath } from './workspace-path.ts'
import { appendToFile, type ChildEntry, hostPathOf, inspectEntry, inspectFile, replaceFile } from './write-file.ts'

/** A file after it was written. */
export interface WrittenFile {
  readonly path: string
  readonly size: number
  readonly isNew: boolean
}

export interface WorkspaceChanges {
  /** Whole or not at all: readers see the old file or the new one. The directory must be there. */
  writeFile(path: string, content: string | Uint8Array): Promise<WrittenFile>
  /** At the end, in place; the file is made when there is none. */
  appendFile(path: string, content: string | Uint8Array): Promise<WrittenFile>
  /** Replaces a UTF-8 text by what `change` makes of it, unless somebody else changed the file meanwhile. */
  editFile(path: string, change: (text: string) => string): Promise<WrittenFile>
  deleteFile(path: string): Promise<void>
  /** With all that lead to it. A directory that is there already is as good. */
  makeDirectory(path: string): Promise<void>
  /** Only when it is empty. */
  deleteDirectory(path: string): Promise<void>
  /** A file or a directory with all that is in it. Nothing is replaced. */
  rename(from: string, to: string): Promise<void>
}

interface ChangeContext {
  readonly tree: WorkspaceTree
  readonly limits: WorkspaceLimits
  readonly space: Quota
}

export function createChanges(tree: WorkspaceTree, limits: WorkspaceLimits): WorkspaceChanges {
  const grounds: ChangeContext = {
    tree,
    limits,
    space: createQuota(limits, () => measureTree(tree, limits.entries + 1)),
  }
  const at = <Value>(path: string, change: (place: ChildEntry, path: string) => Promise<Value>): Promise<Value> =>
    changeEntry(tree, path, change)
  return {
    writeFile: (path, content) => at(path, (place, plain) => write(grounds, place, { plain, bytes: toBytes(content) })),
    appendFile: (path, content) =>
      at(path, (place, plain) => append(grounds, place, { plain, bytes: toBytes(content) })),
    editFile: (path, change) => at(path, (place, plain) => edit(grounds, place, { plain, change })),
    deleteFile: (path) => at(path, (place) => deleteFile(grounds, place)),
    makeDirectory: (path) => makeDirectories(grounds, path),
    deleteDirectory: (path) => at(path, (place) => deleteDirectory(grounds, place)),
    rename: (from, to) => moveEntry(tree, from, to),
  }
}

const toBytes = (content: string | Uint8Array): Uint8Array =>
  typeof content === 'string' ? Buffer.from(content) : content

async function changeEntry<Value>(
  tree: WorkspaceTree,
  path: string,
  change: (place: ChildEntry, path: string) => Promise<Value>,
): Promise<Value> {
  const segments = parseWorkspacePath(path)
  const plain = formatWorkspacePath(segments)
  try {
    return await changeInOrder(tree, segments, (place) => change(place, plain))
  } catch (error) {
    throw hideHostPath(error, plain)
  }
}

/** Within this process changes to one path wait for each other, so that none is lost. */
async function changeInOrder<Value>(
  tree: WorkspaceTree,
  segments: readonly string[],
  change: (place: ChildEntry) => Promise<Value>,
): Promise<Value> {
  const name = segments.at(-1)
  if (name === undefined) throw new ToolRetryError('This is the workspace itself: give a path below it.')
  return runInOrder(`${tree.root}\0${segments.join('/')}`, () =>
    useEntry(tree, segments.slice(0, -1), (parent) => change(toChild(parent, name))),
  )
}

function toChild(parent: OpenedEntry, name: string): ChildEntry {
  if (!parent.stats.isDirectory()) throw new ToolRetryError('a part of the path is no directory, or is a link.')
  return { parent, name }
}

interface NewContent {
  readonly plain: string
  readonly bytes: Uint8Array
}

async function write(grounds: ChangeContext, place: ChildEntry, { plain, bytes }: NewContent): Promise<WrittenFile> {
  const before = await inspectFile(place)
  return replace(grounds, place, { plain, bytes, before, strictness: 'whatever' })
}

async function replace(
  { limits, space }: ChangeContext,
  place: ChildEntry,
  content: NewContent & { readonly before: Stats | undefined; readonly strictness: 'unchanged' | 'whatever' },
): Promise<WrittenFile> {
  const { plain, bytes, before } = content
  checkFileSize(bytes.length, limits)
  const growth = { bytes: bytes.length - (before?.size ?? 0), entries: before === undefined ? 1 : 0 }
  await space.reserve(growth, () => replaceFile(place, content))
  return { path: plain, size: bytes.length, isNew: before === undefined }
}

async function append(
  { limits, space }: ChangeContext,
  place: ChildEntry,
  { plain, bytes }: NewContent,
): Promise<WrittenFile> {
  const before = await inspectFile(place)
  checkFileSize((before?.size ?? 0) + bytes.length, limits)
  const growth = { bytes: bytes.length, entries: before === undefined ? 1 : 0 }
  const size = await space.reserve(growth, () => appendToFile(place, bytes))
  return { path: plain, size, isNew: before === undefined }
}

async function edit(
  grounds: ChangeContext,
  place: ChildEntry,
  { plain, change }: { readonly plain: string; readonly change: (text: string) => string },
): Promise<WrittenFile> {
  const { text, stats }: EditableText = await readForEdit(place)
  const changed = change(text)
  if (changed === text) return { path: plain, size: stats.size, isNew: false }
  return replace(grounds, place, { plain, bytes: Buffer.from(changed), before: stats, strictness: 'unchanged' })
}

async function deleteFile({ space }: ChangeContext, place: ChildEntry): Promise<void> {
  const before = await inspectFile(place)
  await place.parent.confirm()
  await unlink(hostPathOf(place))
  space.release({ bytes: before?.size ?? 0, entries: 1 })
}

async function deleteDirectory({ space }: ChangeContext, place: ChildEntry): Promise<void> {
  const before = await inspectEntry(place)
  if (before?.isFile()) throw new ToolRetryError('The path names a file, not a directory.')
  await place.parent.confirm()
  await rmdir(hostPathOf(place))
  space.release({ bytes: 0, entries: 1 })
}

/** Each directory is opened, and judged, before the next is made in it. */
async function makeDirectories(grounds: ChangeContext, path: string): Promise<void> {
  const segments = parseWorkspacePath(path)
  try {
    for (let depth = 0; depth < segments.length; depth++)
      await useEntry(grounds.tree, segments.slice(0, depth), (parent) =>
        makeDirectory(grounds, toChild(parent, segments[depth] as string)),
      )
    await useEntry(grounds.tree, segments, async (entry) => toChild(entry, '.'))
  } catch (error) {
    throw hideHostPath(error, formatWorkspacePath(segments))
  }
}

async function makeDirectory({ space }: ChangeContext, place: ChildEntry): Promise<void> {
  if ((await undefinedIfMissing(lstat(hostPathOf(place)))) !== undefined) return
  await space.reserve({ bytes: 0, entries: 1 }, async () => {
    await place.parent.confirm()
    try {
      await mkdir(hostPathOf(place), DIRECTORY_MODE)
    } catch (error) {
      if (systemErrorCode(error) !== 'EEXIST') throw error
    }
  })
}

/** Turns are taken in one order, so that two moves in opposite directions do not wait for each other for ever. */
async function moveEntry(tree: WorkspaceTree, from: string, to: string): Promise<void> {
  const [source, target] = [parseWorkspacePath(from), parseWorkspacePath(to)]
  const [fromPath, toPath] = [formatWorkspacePath(source), formatWorkspacePath(target)]
  if (fromPath === toPath) throw new ToolRetryError(`${fromPath} would be moved to itself.`)
  try {
    if (fromPath < toPath)
      await changeInOrder(tree, source, (here) => changeInOrder(tree, target, (there) => moveTo(here, there)))
    else await changeInOrder(tree, target, (there) => changeInOrder(tree, source, (here) => moveTo(here, there)))
  } catch (error) {
    throw hideHostPath(error, `${fromPath} to ${toPath}`)
  }
}

async function moveTo(source: ChildEntry, target: ChildEntry): Promise<void> {
  if ((await inspectEntry(source)) === undefined)
    throw new ToolRetryError('there is no such file or directory to move.')
  if ((await undefinedIfMissing(lstat(hostPathOf(target)))) !== undefined)
    throw new ToolRetryError('there is something of that name already.')
  await source.parent.confirm()
  await target.parent.confirm()
  await rename(hostPathOf(source), hostPathOf(target))
}
