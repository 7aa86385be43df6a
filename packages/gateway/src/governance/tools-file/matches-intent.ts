import { isDeepStrictEqual } from 'node:util'
import type { Json } from '@sallyport/core'
import type { FileEntry, ParsedFile } from './parsed-file.ts'
import type { PlainLine } from './plain-line.ts'
import { findSection } from './read-sections.ts'
import type { YamlValue } from './yaml-tree.ts'

/** The intended differences in a changed file. */
export interface Intent {
  readonly tools: ReadonlyMap<string, Json>
  readonly categories: ReadonlyMap<string, Json>
}

/** Whether a changed file differs from the old one only by the intended changes. */
export function matchesIntent(before: ParsedFile, after: ParsedFile, intent: Intent): boolean {
  return (
    hasIntendedEntries(before, after, intent) &&
    isDeepStrictEqual(otherSections(after.root), otherSections(before.root)) &&
    isDeepStrictEqual(
      readCategories(after.root),
      new Map<string, unknown>([...readCategories(before.root), ...intent.categories]),
    )
  )
}

/** No change moves entries: the old ones keep their order, and only intended entries are between them. */
function hasIntendedEntries(before: ParsedFile, after: ParsedFile, { tools }: Intent): boolean {
  let matched = 0
  for (const entry of after.entries) {
    const earlier = before.entries[matched]
    const wasThere = earlier?.key === entry.key
    if (wasThere) matched++
    const intended = tools.get(entry.key)
    const isRight =
      intended === undefined
        ? wasThere && isSameEntry(earlier, entry)
        : isDeepStrictEqual(readEntryValue(entry), intended)
    if (!isRight) return false
  }
  return matched === before.entries.length
}

function isSameEntry(before: FileEntry, after: FileEntry): boolean {
  const was = before.range?.fields
  const is = after.range?.fields
  if (was !== undefined && was === is) return true
  if (was === undefined || is === undefined) return isDeepStrictEqual(readEntryValue(after), readEntryValue(before))
  return was.length === is.length && was.every(({ written }, index) => isSameLine(written, is[index]?.written))
}

/** Most lines come from the same cache, so they are the same object. */
function isSameLine(was: PlainLine, is: PlainLine | undefined): boolean {
  if (was === is) return true
  // A fast path for pins, which are all different: most files have one per tool.
  if (typeof was.value === 'string') return was.key === is?.key && was.value === is.value
  return was.key === is?.key && isDeepStrictEqual(was.value, is.value)
}

/** The value of an entry, with its keys as written in the file. */
export function readEntryValue({ range, parsed }: FileEntry): unknown {
  if (range?.fields === undefined || range.fields.length === 0) return parsed?.value ?? null
  return Object.fromEntries(range.fields.map(({ written }) => [written.key, written.value]))
}

function otherSections(root: YamlValue): unknown {
  const others = [...(root.pairs?.values() ?? [])].filter(
    (pair) => pair.key !== 'tools' && pair !== findSection(root, 'tool_categories'),
  )
  return new Map(others.map(({ key, target }) => [key, target.value]))
}

function readCategories(root: YamlValue): ReadonlyMap<string, unknown> {
  const pairs = findSection(root, 'tool_categories')?.target.pairs?.values() ?? []
  return new Map(Array.from(pairs, ({ key, target }) => [key, target.value]))
}
