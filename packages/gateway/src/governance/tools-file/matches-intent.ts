import { isDeepStrictEqual } from 'node:util'
import type { Json } from '@sallyport/core'
import type { FileEntry, ParsedFile } from './parsed-file.ts'
import type { PlainLine } from './plain-line.ts'
import { findSection } from './read-sections.ts'
import type { YamlValue } from './yaml-tree.ts'

/** What is meant to be different in a changed file. */
export interface Intent {
  readonly tools: ReadonlyMap<string, Json>
  readonly categories: ReadonlyMap<string, Json>
}

/** Whether a changed file says what it said before, but for what was meant. */
export function matchesIntent(before: ParsedFile, after: ParsedFile, intent: Intent): boolean {
  return (
    hasIntendedEntries(before, after, intent) &&
    isDeepStrictEqual(otherSections(after.root), otherSections(before.root)) &&
    isDeepStrictEqual(
      categoriesOf(after.root),
      new Map<string, unknown>([...categoriesOf(before.root), ...intent.categories]),
    )
  )
}

/** No change moves entries: those of before stand in the same order, and between them only what was meant. */
function hasIntendedEntries(before: ParsedFile, after: ParsedFile, { tools }: Intent): boolean {
  let kept = 0
  for (const entry of after.entries) {
    const earlier = before.entries[kept]
    const wasThere = earlier?.key === entry.key
    if (wasThere) kept++
    const meant = tools.get(entry.key)
    const isRight =
      meant === undefined ? wasThere && isSameEntry(earlier, entry) : isDeepStrictEqual(readEntryValue(entry), meant)
    if (!isRight) return false
  }
  return kept === before.entries.length
}

function isSameEntry(before: FileEntry, after: FileEntry): boolean {
  const was = before.range?.fields
  const is = after.range?.fields
  if (was !== undefined && was === is) return true
  if (was === undefined || is === undefined) return isDeepStrictEqual(readEntryValue(after), readEntryValue(before))
  return was.length === is.length && was.every(({ written }, index) => isSameLine(written, is[index]?.written))
}

/** Most come out of one memo, and so are one. */
function isSameLine(was: PlainLine, is: PlainLine | undefined): boolean {
  if (was === is) return true
  // The pins: no two are alike, and most files hold one for each tool.
  if (typeof was.value === 'string') return was.key === is?.key && was.value === is.value
  return was.key === is?.key && isDeepStrictEqual(was.value, is.value)
}

/** What an entry says, under the keys as they are written. */
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

function categoriesOf(root: YamlValue): ReadonlyMap<string, unknown> {
  const pairs = findSection(root, 'tool_categories')?.target.pairs?.values() ?? []
  return new Map(Array.from(pairs, ({ key, target }) => [key, target.value]))
}
