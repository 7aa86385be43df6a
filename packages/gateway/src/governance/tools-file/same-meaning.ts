import { isDeepStrictEqual } from 'node:util'
import type { Json } from '@sallyport/core'
import type { FileEntry, ParsedFile } from './parsed-file.ts'
import type { PlainLine } from './plain-line.ts'
import { sectionOf } from './read-sections.ts'
import type { YamlValue } from './yaml-tree.ts'

/** What is meant to be different in a changed file. */
export interface Intent {
  readonly tools: ReadonlyMap<string, Json>
  readonly categories: ReadonlyMap<string, Json>
}

/** Whether a changed file says what it said before, but for what was meant. */
export function isAsMeant(before: ParsedFile, after: ParsedFile, intent: Intent): boolean {
  return (
    sameEntries(before, after, intent) &&
    isDeepStrictEqual(otherSections(after.root), otherSections(before.root)) &&
    isDeepStrictEqual(
      categoriesOf(after.root),
      new Map<string, unknown>([...categoriesOf(before.root), ...intent.categories]),
    )
  )
}

function sameEntries(before: ParsedFile, after: ParsedFile, { tools }: Intent): boolean {
  const old = new Map(before.entries.map((entry) => [entry.key, entry]))
  const added = [...tools.keys()].filter((key) => !old.has(key))
  if (after.entries.length !== before.entries.length + added.length) return false
  return after.entries.every((entry) => {
    const meant = tools.get(entry.key)
    if (meant !== undefined) return isDeepStrictEqual(entryValue(entry), meant)
    const earlier = old.get(entry.key)
    return earlier !== undefined && sameEntry(earlier, entry)
  })
}

function sameEntry(before: FileEntry, after: FileEntry): boolean {
  const was = before.cut?.fields
  const is = after.cut?.fields
  if (was === undefined || is === undefined) return isDeepStrictEqual(entryValue(after), entryValue(before))
  return was.length === is.length && was.every(({ written }, index) => sameLine(written, is[index]?.written))
}

/** Most come out of one memo, and so are one. */
function sameLine(was: PlainLine, is: PlainLine | undefined): boolean {
  if (was === is) return true
  // The pins: no two are alike, and most files hold one for each tool.
  if (typeof was.value === 'string') return was.key === is?.key && was.value === is.value
  return was.key === is?.key && isDeepStrictEqual(was.value, is.value)
}

/** What an entry says, under the keys as they are written. */
export function entryValue({ cut, parsed }: FileEntry): unknown {
  if (cut?.fields === undefined || cut.fields.length === 0) return parsed?.value ?? null
  return Object.fromEntries(cut.fields.map(({ written }) => [written.key, written.value]))
}

function otherSections(root: YamlValue): unknown {
  const others = [...(root.pairs?.values() ?? [])].filter(
    (pair) => pair.key !== 'tools' && pair !== sectionOf(root, 'tool_categories'),
  )
  return new Map(others.map(({ key, target }) => [key, target.value]))
}

function categoriesOf(root: YamlValue): ReadonlyMap<string, unknown> {
  const pairs = sectionOf(root, 'tool_categories')?.target.pairs?.values() ?? []
  return new Map(Array.from(pairs, ({ key, target }) => [key, target.value]))
}
