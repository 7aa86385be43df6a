import { type PlainLine, RESERVED, readPlainLine } from './plain-line.ts'
import { QUOTED, unquote } from './quoted-text.ts'
import {
  BLANK,
  COMMENT,
  indentOf,
  lineStart,
  lineText,
  type SharedLines,
  TABBED,
  type TextLines,
} from './text-lines.ts'

/** A top-level key and its lines, up to the next key or the end of the document. */
export interface SectionRange {
  readonly name: string
  readonly line: number
  readonly end: number
}

export interface PlainField {
  readonly line: number
  readonly indent: number
  readonly written: PlainLine
}

/** An entry of `tools` and its lines, up to the next key at the same level or above. */
export interface EntryRange {
  readonly key: string
  readonly line: number
  readonly end: number
  readonly indent: number
  /** The fields, if every line of the entry is a simple line. */
  readonly fields?: readonly PlainField[]
}

/** How a file is split into sections, and `tools` into entries. */
export interface Outline {
  readonly sections: readonly SectionRange[]
  readonly entries: readonly EntryRange[]
}

/** The maximum number of cached lines. Most lines of a file are in it many times, so they are read once. */
export const MAX_MEMO = 500
export type LineMemo = Map<string, PlainLine | undefined>

/** The maximum length of a key on one line in YAML. */
export const MAX_KEY_LENGTH = 1_024

const KEY = new RegExp(`^(?:([A-Za-z_][\\w./*?-]*)|(${QUOTED})|'([^'\\u0000-\\u001f]*)'):(?= |$)`)
const NO_VALUE = /^ *(?: #.*)?$/

const DOCUMENT_END = /^\.\.\.(?: |$)/

interface KeyLine {
  readonly key: string
  /** Nothing follows the key on its line. */
  readonly alone: boolean
}

function readKeyLine(line: string): KeyLine | undefined {
  const match = KEY.exec(line)
  if (match === null || match[0].length - 1 > MAX_KEY_LENGTH) return undefined
  const [head, plain, double, single] = match
  if (plain !== undefined && RESERVED.test(plain)) return undefined
  const key = plain ?? (double === undefined ? single : unquote(double))
  return key === undefined ? undefined : { key, alone: NO_VALUE.test(line.slice(head.length)) }
}

interface OpenSection {
  readonly name: string
  readonly line: number
  end: number
}

interface OpenEntry extends KeyLine {
  readonly line: number
  end: number
}

interface Scan {
  readonly source: TextLines
  readonly sections: OpenSection[]
  /** Entries that are reused from an earlier scan. */
  readonly known: readonly EntryRange[]
  readonly entries: OpenEntry[]
  /** Whether the scan is inside `tools`, and `tools:` has no value on its own line. */
  isInTools: boolean
  /** The indentation of the entries; 0 before the first entry. */
  level: number
}

/**
 * Splits the file by indentation only, without reading the entries. Returns `undefined` if that cannot be correct.
 *
 * The parser verifies the result later: a quoted string over several lines may contain something that looks like a key,
 * and a key may be written in a way that is not supported here.
 */
export function scanOutline(source: TextLines, memo: LineMemo, head?: OutlineHead): Outline | undefined {
  const scan = head ? resumeScan(source, head) : beginScan(source)
  const { indents } = source
  for (let line = head?.lines ?? 0; line < indents.length; line++) {
    const indent = indents[line] ?? BLANK
    if (indent === BLANK || indent === COMMENT) continue
    const isValid = indent === 0 ? scanSection(scan, line) : scanEntry(scan, line, indent)
    if (!isValid) return undefined
  }
  const { sections, level } = scan
  const entries = scan.entries.map(({ key, alone, line, end }): EntryRange => {
    const fields = alone ? readPlainFields(source, { line, end }, memo) : undefined
    return fields === undefined ? { key, line, end, indent: level } : { key, line, end, indent: level, fields }
  })
  return { sections, entries: [...scan.known, ...entries] }
}

/** The outline of a file before one of its entries. */
export interface OutlineHead extends SharedLines {
  readonly sections: readonly SectionRange[]
  readonly entries: readonly EntryRange[]
  readonly level: number
}

/**
 * The part of an outline that is also valid for any text which is the same up to an offset: everything before the last
 * entry whose key is completely before the offset. The scan always reaches that key in the same state.
 */
export function findReusableHead(offset: number, source: TextLines, outline: Outline): OutlineHead | undefined {
  const last = outline.entries.findLastIndex(({ line }) => lineStart(source, line + 1) <= offset)
  const entry = outline.entries[last]
  if (entry === undefined) return undefined
  return {
    source,
    lines: entry.line,
    sections: outline.sections.filter(({ line }) => line < entry.line),
    entries: outline.entries.slice(0, last),
    level: entry.indent,
  }
}

function beginScan(source: TextLines): Scan {
  return { source, sections: [], known: [], entries: [], isInTools: false, level: 0 }
}

function resumeScan(source: TextLines, { sections, entries, level }: OutlineHead): Scan {
  const open = sections.map((section): OpenSection => ({ ...section }))
  const last = open.at(-1)
  if (last !== undefined) last.end = source.starts.length
  return { source, sections: open, known: entries, entries: [], isInTools: true, level }
}

/** Returns false if the split may be wrong. */
function scanSection(scan: Scan, line: number): boolean {
  const { source, sections, entries } = scan
  const written = lineText(source, line)
  const found = readKeyLine(written)
  const before = sections.at(-1)
  if (found === undefined && !DOCUMENT_END.test(written)) return !scan.isInTools
  const entry = entries.at(-1)
  if (before !== undefined) before.end = line
  if (scan.isInTools && entry !== undefined) entry.end = line
  scan.isInTools = found?.key === 'tools' && found.alone
  if (found !== undefined) sections.push({ name: found.key, line, end: source.starts.length })
  return true
}

function scanEntry(scan: Scan, line: number, indent: number): boolean {
  if (!scan.isInTools || indent === TABBED) return true
  if (scan.level === 0) scan.level = indent
  if (indent > scan.level) return true
  const found = indent === scan.level ? readKeyLine(lineText(scan.source, line, indent)) : undefined
  if (found === undefined) return false
  const before = scan.entries.at(-1)
  if (before !== undefined) before.end = line
  scan.entries.push({ key: found.key, alone: found.alone, line, end: scan.source.starts.length })
  return true
}

interface EntryLines {
  readonly line: number
  readonly end: number
}

function readPlainFields(source: TextLines, entry: EntryLines, memo: LineMemo): readonly PlainField[] | undefined {
  const fields: PlainField[] = []
  let level = 0
  for (let line = entry.line + 1; line < entry.end; line++) {
    const indent = indentOf(source, line)
    if (indent === BLANK || indent === COMMENT) continue
    if (level === 0) level = indent
    if (indent !== level || indent === TABBED) return undefined
    const written = readMemoized(lineText(source, line, indent), memo)
    if (written === undefined || hasKey(fields, written.key)) return undefined
    fields.push({ line, indent, written })
  }
  return fields
}

function hasKey(fields: readonly PlainField[], key: string): boolean {
  for (let index = 0; index < fields.length; index++) if (fields[index]?.written.key === key) return true
  return false
}

function readMemoized(line: string, memo: LineMemo): PlainLine | undefined {
  // Every pin is different, so a cache lookup would cost more than reading the line.
  if (line.startsWith('pin: ')) return readPlainLine(line)
  const known = memo.get(line)
  if (known !== undefined || memo.has(line)) return known
  const read = readPlainLine(line)
  if (memo.size < MAX_MEMO) memo.set(line, read)
  return read
}
