import type { Stats } from 'node:fs'
import { lstat, opendir } from 'node:fs/promises'
import { ToolRetryError } from '../tool-error.ts'
import { boundPage, type Page } from './page.ts'
import { orMissing } from './refusals.ts'
import type { OpenedEntry } from './safe-open.ts'
import { isTemporaryName } from './temporary-name.ts'

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

const MAX_NAMES = 10_000

export async function listPage(entry: OpenedEntry, page: Page): Promise<DirectoryPage> {
  const { offset, limit } = boundPage(page, MAX_NAMES)
  const { names, overfull } = await readNames(entry)
  const shown = names.filter((name) => !isTemporaryName(name))
  const entries = await describeEntries(entry.location, shown.slice(offset, offset + limit))
  await entry.confirm()
  return { entries, total: shown.length, offset, overfull }
}

/** In the order of their names; not more than are ever listed. */
export async function readNames(entry: OpenedEntry): Promise<{ names: readonly string[]; overfull: boolean }> {
  if (!entry.stats.isDirectory()) throw new ToolRetryError('The path names a file, not a directory.')
  const names: string[] = []
  let overfull = false
  for await (const { name } of await opendir(entry.location)) {
    overfull = names.length === MAX_NAMES
    if (overfull) break
    names.push(name)
  }
  return { names: names.sort(), overfull }
}

/** What is gone since its name was read is left out. */
export async function describeEntries(location: string, names: readonly string[]): Promise<readonly DirectoryEntry[]> {
  const entries: DirectoryEntry[] = []
  for (const name of names) {
    const stats = await orMissing(lstat(`${location}/${name}`))
    if (stats !== undefined) entries.push(describeEntry(name, stats))
  }
  return entries
}

function describeEntry(name: string, stats: Stats): DirectoryEntry {
  if (stats.isFile()) return { name, kind: 'file', size: stats.size }
  if (stats.isDirectory()) return { name, kind: 'directory' }
  return { name, kind: stats.isSymbolicLink() ? 'link' : 'other' }
}
