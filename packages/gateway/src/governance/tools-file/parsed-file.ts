import type { ToolEntry } from '@sallyport/core'
import { isMap } from 'yaml'
import {
  type EntryRange,
  findReusableHead,
  type LineMemo,
  type Outline,
  type OutlineHead,
  type SectionRange,
  scanOutline,
} from './outline.ts'
import { lineAt, lineStart, lineText, splitLines, type TextLines } from './text-lines.ts'
import { readYaml, type YamlPair, type YamlProblem, type YamlValue } from './yaml-tree.ts'

/** An entry of `tools`, read line by line or by the parser. */
export interface FileEntry {
  readonly key: string
  readonly line: number
  /** The lines of the entry; `undefined` if it comes from an alias, a merge key or a mapping in flow style. */
  readonly range?: EntryRange
  /** The value from the parser; `undefined` if the entry was read line by line. */
  readonly parsed?: YamlValue
}

/** The structure of tools.yaml with positions, before its content is validated. Lines start at 0. */
export interface ParsedFile {
  readonly source: TextLines
  readonly sections: readonly SectionRange[]
  readonly entries: readonly FileEntry[]
  /** Without the entries that were read line by line. */
  readonly root: YamlValue
  /** Converts an offset in the text that the parser got into an offset in the file. */
  originalOffset(offset: number): number
  /** Lines that were already read: after a change, most of them are the same. */
  readonly memo: LineMemo
  /** How the file was split line by line; `undefined` if the parser had to read all of it. */
  readonly outline?: Outline
  /** Cached results of entries that were read line by line and have no issues. */
  readonly readings: WeakMap<EntryRange, ToolEntry>
}

export type ParseResult =
  | { readonly ok: true; readonly file: ParsedFile }
  | { readonly ok: false; readonly source: TextLines; readonly problem: YamlProblem }

/** Reads simple entries line by line and passes only the rest to the parser, which is a hundred times slower. */
export const parseToolsFile = (text: string): ParseResult => parse(text, { memo: new Map(), readings: new WeakMap() })

/**
 * Parses a text that is the same as a file up to an offset. For the entries before the offset it reuses only how they were
 * split, because the same lines are always split in the same way. The parser still verifies the split.
 */
export function parseChanged(
  text: string,
  { source, outline, memo, readings }: ParsedFile,
  offset: number,
): ParseResult {
  return parse(text, { memo, readings }, outline && findReusableHead(offset, source, outline))
}

type Memories = Pick<ParsedFile, 'memo' | 'readings'>

function parse(text: string, memories: Memories, head?: OutlineHead): ParseResult {
  const source = splitLines(text, head)
  const problem = findLoneCarriageReturn(text)
  if (problem !== undefined) return { ok: false, source, problem }
  const outline = scanOutline(source, memories.memo, head)
  const file = outline && parseInPart({ source, ...memories }, outline)
  return file === undefined ? parseInFull({ source, ...memories }) : { ok: true, file }
}

type ReadLines = Pick<ParsedFile, 'source' | 'memo' | 'readings'>

/** A lone CR ends a line in YAML, but not for our parser or for editors: a comment for one would be a rule for the other. */
function findLoneCarriageReturn(text: string): YamlProblem | undefined {
  const offset = text.includes('\r') ? text.search(/\r(?!\n)/) : -1
  if (offset === -1) return undefined
  return { offset, problem: 'here is a carriage return without a line feed. End lines with LF or CR LF.' }
}

/**
 * The parser also verifies the split. If it finds the same keys on the same lines, no quote or bracket was open there, so
 * leaving out the entries in between did not change the meaning of the rest.
 */
function parseInPart({ source, ...memories }: ReadLines, outline: Outline): ParsedFile | undefined {
  const { sections, entries: scanned } = outline
  const { text, originalOffset } = extractRemaining(source, scanned)
  const reading = readYaml(text)
  if (!reading.ok) return undefined
  const { root } = reading
  const tools = findPair(root, 'tools')?.target
  const lineOf = ({ at }: YamlPair): number => lineAt(source, originalOffset(at))
  const expected = sections.map(({ name, line }) => ({ key: name, line }))
  if (!hasKeysAt(root, expected, lineOf)) return undefined
  const remaining = scanned.filter(({ fields }) => fields === undefined)
  if (scanned.length > 0 && !hasKeysAt(tools, remaining, lineOf)) return undefined
  if (new Set(scanned.map(({ key }) => key)).size < scanned.length) return undefined
  // If no entry was split off by line, nothing was left out either.
  const ranges = scanned.length > 0 ? scanned : buildOutline(root, source).entries
  return {
    source,
    sections,
    entries: collectEntries(ranges, tools, lineOf),
    root,
    originalOffset,
    outline,
    ...memories,
  }
}

/** Finds a member of a mapping. */
export const findPair = (value: YamlValue | undefined, key: string): YamlPair | undefined => value?.pairs?.get(key)

const pairsOf = (value: YamlValue | undefined): readonly YamlPair[] => [...(value?.pairs?.values() ?? [])]

interface Expected {
  readonly key: string
  readonly line: number
}

function hasKeysAt(
  value: YamlValue | undefined,
  expected: readonly Expected[],
  lineOf: (pair: YamlPair) => number,
): boolean {
  const pairs = pairsOf(value)
  if (pairs.length === 0 && expected.length === 0) return (value?.value ?? null) === null
  return (
    pairs.length === expected.length &&
    pairs.every((pair, index) => pair.key === expected[index]?.key && lineOf(pair) === expected[index]?.line)
  )
}

function parseInFull({ source, ...memories }: ReadLines): ParseResult {
  const reading = readYaml(source.text)
  if (!reading.ok) return { ok: false, source, problem: reading.problem }
  const { root } = reading
  const { sections, entries: ranges } = buildOutline(root, source)
  const entries = collectEntries(ranges, findPair(root, 'tools')?.target, ({ at }) => lineAt(source, at))
  return { ok: true, file: { source, sections, entries, root, originalOffset: (offset) => offset, ...memories } }
}

function collectEntries(
  ranges: readonly EntryRange[],
  tools: YamlValue | undefined,
  lineOf: (pair: YamlPair) => number,
): readonly FileEntry[] {
  const known = new Set(ranges.map(({ key }) => key))
  const withRange = ranges.map((range): FileEntry => {
    const parsed = range.fields === undefined ? findPair(tools, range.key)?.target : undefined
    return { key: range.key, line: range.line, range, ...(parsed && { parsed }) }
  })
  const others = pairsOf(tools).filter(({ key }) => !known.has(key))
  return [...withRange, ...others.map((pair) => ({ key: pair.key, line: lineOf(pair), parsed: pair.target }))]
}

/** The part of a text that the parser reads, and a mapping back to the original offsets. */
interface RemainingText {
  readonly text: string
  originalOffset(offset: number): number
}

interface Piece {
  readonly from: number
  readonly original: number
}

/** The text without the entries that were read line by line. */
function extractRemaining(source: TextLines, entries: readonly EntryRange[]): RemainingText {
  const pieces: Piece[] = []
  let text = ''
  const keep = (from: number, to: number): void => {
    if (from === to) return
    pieces.push({ from: text.length, original: from })
    text += source.text.slice(from, to)
  }
  let from = 0
  for (const { line, end, fields } of entries) {
    if (fields === undefined) continue
    keep(from, lineStart(source, line))
    from = lineStart(source, end)
  }
  keep(from, source.text.length)
  return { text, originalOffset: (offset) => originalOffset(pieces, offset) }
}

function originalOffset(pieces: readonly Piece[], offset: number): number {
  let low = 0
  let high = pieces.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((pieces[middle]?.from ?? 0) <= offset) low = middle
    else high = middle - 1
  }
  const piece = pieces[low]
  return piece === undefined ? offset : piece.original + offset - piece.from
}

interface KeyRange {
  readonly key: string
  readonly line: number
  readonly end: number
  readonly indent: number
}

/** The sections and entries of a file that was parsed as a whole. */
function buildOutline(root: YamlValue, source: TextLines): Outline {
  const sections = listKeyRanges(root, documentEnd(source), source)
  const tools = sections.find(({ key }) => key === 'tools')
  const value = root.pairs?.get('tools')?.target
  return {
    sections: sections.map(({ key, line, end }) => ({ name: key, line, end })),
    entries: tools === undefined || value === undefined ? [] : listKeyRanges(value, tools.end, source),
  }
}

/** Whether a value is a mapping in block style, with each key on its own line. */
export const isBlockMap = ({ node }: YamlValue): boolean => node !== null && isMap(node) && node.flow !== true

function listKeyRanges(value: YamlValue, end: number, source: TextLines): readonly KeyRange[] {
  if (!isBlockMap(value)) return []
  const own = [...(value.pairs?.values() ?? [])].filter(({ inherited }) => !inherited)
  const lines = own.map(({ at }) => lineAt(source, at))
  return own.map(({ key, at }, index) => {
    const line = lines[index] ?? 0
    return { key, line, end: lines[index + 1] ?? end, indent: at - lineStart(source, line) }
  })
}

/** The line of `...`, or the line after the last one. */
export function documentEnd(source: TextLines): number {
  const marked = source.indents.findIndex(
    (indent, line) => indent === 0 && /^\.\.\.\s*(?:#|$)/.test(lineText(source, line)),
  )
  return marked === -1 ? source.starts.length : marked
}
