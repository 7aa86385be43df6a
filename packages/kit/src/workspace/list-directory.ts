import type { Stats } from 'node:fs'
import { lstat, opendir } from 'node:fs/promises'
import { ToolRetryError } from '../retry-fatal-errors.ts'
import { clampPage, type Page } from './page.ts'
import { undefinedIfMissing } from './refusals.ts'
import type { OpenedEntry } from './safe-open.ts'
import { isTemporaryName } from './temporary-name.ts'

/** One name in a directory of a workspace. */
export interface DirectoryEntry {
  readonly name: string
  readonly kind: 'file' | 'directory' | 'link' | 'other'
  /** Of files, in bytes. */
  readonly size?: number
}

/** One page of the entries of a directory. */
export interface DirectoryPage {
  readonly entries: readonly DirectoryEntry[]
  readonly total: number
  readonly offset: number
  /** True if the directory has more names than are ever listed; `total` counts the listed ones. */
  readonly overfull: boolean
}

const MAX_NAMES = 10_000

/** `sizeOf`: the size of a file's content, by its size on the disk. */
export async function listPage(
  entry: OpenedEntry,
  page: Page,
  sizeOf: (name: string, size: number) => Promise<number>,
): Promise<DirectoryPage> {
  const { offset, limit } = clampPage(page, MAX_NAMES)
  const { names, overfull } = await readNames(entry, MAX_NAMES)
  const shown = names.filter((name) => !isTemporaryName(name))
  const stored = await describeEntries(entry.location, shown.slice(offset, offset + limit))
  const entries: DirectoryEntry[] = []
  for (const one of stored)
    entries.push(one.size === undefined ? one : { ...one, size: await sizeOf(one.name, one.size) })
  await entry.confirm()
  return { entries, total: shown.length, offset, overfull }
}

interface NameList {
  readonly names: readonly string[]
  readonly overfull: boolean
}

/** Sorted. If there are more than `maxNames`, those that the system returns first. */
export async function readNames(entry: OpenedEntry, maxNames: number): Promise<NameList> {
  if (!entry.stats.isDirectory()) throw new ToolRetryError('The path names a file, not a directory.')
  const names: string[] = []
  let overfull = false
  for await (const { name } of await opendir(entry.location)) {
    overfull = names.length >= maxNames
    if (overfull) break
    names.push(name)
  }
  return { names: names.sort(), overfull }
}

/** Enough at once to keep the file system threads busy. */
const BATCH = 64

/** Entries that were removed since their names were read are left out. */
export async function describeEntries(location: string, names: readonly string[]): Promise<readonly DirectoryEntry[]> {
  const entries: DirectoryEntry[] = []
  for (let at = 0; at < names.length; at += BATCH) {
    const batch = names.slice(at, at + BATCH)
    const looked = await Promise.all(batch.map((name) => undefinedIfMissing(lstat(`${location}/${name}`))))
    for (const [index, stats] of looked.entries())
      if (stats !== undefined) entries.push(describeEntry(batch[index] as string, stats))
  }
  return entries
}

function describeEntry(name: string, stats: Stats): DirectoryEntry {
  if (stats.isFile()) return { name, kind: 'file', size: stats.size }
  if (stats.isDirectory()) return { name, kind: 'directory' }
  return { name, kind: stats.isSymbolicLink() ? 'link' : 'other' }
}
