import type { Stats } from 'node:fs'
import { lstat, mkdir, rename, rmdir, unlink } from 'node:fs/promises'
import { ToolRetryError } from '../agent-error.ts'
import { type EditedText, readForEdit } from './edit-file.ts'
import { measureTree } from './measure.ts'
import { codeOf, hideHost, orMissing } from './refusals.ts'
import { DIRECTORY_MODE, type OpenedEntry } from './safe-open.ts'
import { checkFileSize, createSpace, type Space, type WorkspaceLimits } from './space.ts'
import { takeTurns } from './turns.ts'
import { type Tree, useEntry } from './walk.ts'
import { readWorkspacePath, workspacePath } from './workspace-path.ts'
import { appendToFile, hostNameOf, lookAt, lookAtFile, type Place, replaceFile } from './write-file.ts'

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

interface Grounds {
  readonly tree: Tree
  readonly limits: WorkspaceLimits
  readonly space: Space
}

export function createChanges(tree: Tree, limits: WorkspaceLimits): WorkspaceChanges {
  const grounds: Grounds = { tree, limits, space: createSpace(limits, () => measureTree(tree, limits.entries + 1)) }
  const at = <Value>(path: string, change: (place: Place, path: string) => Promise<Value>): Promise<Value> =>
    changeAt(tree, path, change)
  return {
    writeFile: (path, content) => at(path, (place, plain) => write(grounds, place, { plain, bytes: bytesOf(content) })),
    appendFile: (path, content) =>
      at(path, (place, plain) => append(grounds, place, { plain, bytes: bytesOf(content) })),
    editFile: (path, change) => at(path, (place, plain) => edit(grounds, place, { plain, change })),
    deleteFile: (path) => at(path, (place) => deleteFile(grounds, place)),
    makeDirectory: (path) => makeDirectories(grounds, path),
    deleteDirectory: (path) => at(path, (place) => deleteDirectory(grounds, place)),
    rename: (from, to) => moveEntry(tree, from, to),
  }
}

const bytesOf = (content: string | Uint8Array): Uint8Array =>
  typeof content === 'string' ? Buffer.from(content) : content

async function changeAt<Value>(
  tree: Tree,
  path: string,
  change: (place: Place, path: string) => Promise<Value>,
): Promise<Value> {
  const segments = readWorkspacePath(path)
  const plain = workspacePath(segments)
  try {
    return await inTurn(tree, segments, (place) => change(place, plain))
  } catch (error) {
    throw hideHost(error, plain)
  }
}

/** Within this process changes to one path wait for each other, so that none is lost. */
async function inTurn<Value>(
  tree: Tree,
  segments: readonly string[],
  change: (place: Place) => Promise<Value>,
): Promise<Value> {
  const name = segments.at(-1)
  if (name === undefined) throw new ToolRetryError('This is the workspace itself: give a path below it.')
  return takeTurns(`${tree.root}\0${segments.join('/')}`, () =>
    useEntry(tree, segments.slice(0, -1), (parent) => change(placeIn(parent, name))),
  )
}

function placeIn(parent: OpenedEntry, name: string): Place {
  if (!parent.stats.isDirectory()) throw new ToolRetryError('a part of the path is no directory, or is a link.')
  return { parent, name }
}

interface Content {
  readonly plain: string
  readonly bytes: Uint8Array
}

async function write(grounds: Grounds, place: Place, { plain, bytes }: Content): Promise<WrittenFile> {
  const before = await lookAtFile(place)
  return replace(grounds, place, { plain, bytes, before, strictness: 'whatever' })
}

async function replace(
  { limits, space }: Grounds,
  place: Place,
  content: Content & { readonly before: Stats | undefined; readonly strictness: 'unchanged' | 'whatever' },
): Promise<WrittenFile> {
  const { plain, bytes, before } = content
  checkFileSize(bytes.length, limits)
  const growth = { bytes: bytes.length - (before?.size ?? 0), entries: before === undefined ? 1 : 0 }
  await space.spend(growth, () => replaceFile(place, content))
  return { path: plain, size: bytes.length, isNew: before === undefined }
}

async function append({ limits, space }: Grounds, place: Place, { plain, bytes }: Content): Promise<WrittenFile> {
  const before = await lookAtFile(place)
  checkFileSize((before?.size ?? 0) + bytes.length, limits)
  const growth = { bytes: bytes.length, entries: before === undefined ? 1 : 0 }
  const size = await space.spend(growth, () => appendToFile(place, bytes))
  return { path: plain, size, isNew: before === undefined }
}

async function edit(
  grounds: Grounds,
  place: Place,
  { plain, change }: { readonly plain: string; readonly change: (text: string) => string },
): Promise<WrittenFile> {
  const { text, stats }: EditedText = await readForEdit(place)
  const changed = change(text)
  if (changed === text) return { path: plain, size: stats.size, isNew: false }
  return replace(grounds, place, { plain, bytes: Buffer.from(changed), before: stats, strictness: 'unchanged' })
}

async function deleteFile({ space }: Grounds, place: Place): Promise<void> {
  const before = await lookAtFile(place)
  await place.parent.confirm()
  await unlink(hostNameOf(place))
  space.giveBack({ bytes: before?.size ?? 0, entries: 1 })
}

async function deleteDirectory({ space }: Grounds, place: Place): Promise<void> {
  const before = await lookAt(place)
  if (before?.isFile()) throw new ToolRetryError('The path names a file, not a directory.')
  await place.parent.confirm()
  await rmdir(hostNameOf(place))
  space.giveBack({ bytes: 0, entries: 1 })
}

/** Each directory is opened, and judged, before the next is made in it. */
async function makeDirectories(grounds: Grounds, path: string): Promise<void> {
  const segments = readWorkspacePath(path)
  try {
    for (let depth = 0; depth < segments.length; depth++)
      await useEntry(grounds.tree, segments.slice(0, depth), (parent) =>
        makeDirectory(grounds, placeIn(parent, segments[depth] as string)),
      )
    await useEntry(grounds.tree, segments, async (entry) => placeIn(entry, '.'))
  } catch (error) {
    throw hideHost(error, workspacePath(segments))
  }
}

async function makeDirectory({ space }: Grounds, place: Place): Promise<void> {
  if ((await orMissing(lstat(hostNameOf(place)))) !== undefined) return
  await space.spend({ bytes: 0, entries: 1 }, async () => {
    await place.parent.confirm()
    try {
      await mkdir(hostNameOf(place), DIRECTORY_MODE)
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
    }
  })
}

/** Turns are taken in one order, so that two moves in opposite directions do not wait for each other for ever. */
async function moveEntry(tree: Tree, from: string, to: string): Promise<void> {
  const [source, target] = [readWorkspacePath(from), readWorkspacePath(to)]
  const [fromPath, toPath] = [workspacePath(source), workspacePath(target)]
  if (fromPath === toPath) throw new ToolRetryError(`${fromPath} would be moved to itself.`)
  try {
    if (fromPath < toPath) await inTurn(tree, source, (here) => inTurn(tree, target, (there) => moveTo(here, there)))
    else await inTurn(tree, target, (there) => inTurn(tree, source, (here) => moveTo(here, there)))
  } catch (error) {
    throw hideHost(error, `${fromPath} to ${toPath}`)
  }
}

async function moveTo(source: Place, target: Place): Promise<void> {
  if ((await lookAt(source)) === undefined) throw new ToolRetryError('there is no such file or directory to move.')
  if ((await orMissing(lstat(hostNameOf(target)))) !== undefined)
    throw new ToolRetryError('there is something of that name already.')
  await source.parent.confirm()
  await target.parent.confirm()
  await rename(hostNameOf(source), hostNameOf(target))
}
