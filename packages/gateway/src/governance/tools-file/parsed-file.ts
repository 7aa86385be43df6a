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

/** An entry of `tools`: read line by line, or by the parser. */
export interface FileEntry {
  readonly key: string
  readonly line: number
  /** Where it stands; nothing when it comes from an alias, a merge key or a mapping in flow style. */
  readonly range?: EntryRange
  /** What the parser made of it; nothing when it was read line by line. */
  readonly parsed?: YamlValue
}

/** tools.yaml as it is written: what stands where, before anything is made of it. Lines count from 0. */
export interface ParsedFile {
  readonly source: TextLines
  readonly sections: readonly SectionRange[]
  readonly entries: readonly FileEntry[]
  /** Without the entries that were read line by line. */
  readonly root: YamlValue
  /** Where something stands in the file that the parser was given. */
  originalOffset(offset: number): number
  /** Its lines as they were read: after a change most of them are the same. */
  readonly memo: LineMemo
  /** How it was cut line by line; nothing where the parser had to read all of it. */
  readonly outline?: Outline
  /** What entries that were read line by line were found to say, where nothing is wrong with them. */
  readonly readings: WeakMap<EntryRange, ToolEntry>
}

export type ParseResult =
  | { readonly ok: true; readonly file: ParsedFile }
  | { readonly ok: false; readonly source: TextLines; readonly problem: YamlProblem }

/** Reads plain entries line by line and gives only the rest to the parser, which is a hundred times slower. */
export const parseToolsFile = (text: string): ParseResult => parse(text, { memo: new Map(), readings: new WeakMap() })

/**
 * Reads a text that is that of a file up to an offset. Of the entries before it only their cuts are taken over, since the
 * same lines are cut alike; whether the cuts are right is for the parser to say again.
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
  const alone = findLoneCarriageReturn(text)
  if (alone !== undefined) return { ok: false, source, problem: alone }
  const outline = scanOutline(source, memories.memo, head)
  const file = outline && parseInPart({ source, ...memories }, outline)
  return file === undefined ? parseInFull({ source, ...memories }) : { ok: true, file }
}

type ReadLines = Pick<ParsedFile, 'source' | 'memo' | 'readings'>

/** For YAML it ends a line, for our parser and for editors it does not: a comment for one is policy for another. */
function findLoneCarriageReturn(text: string): YamlProblem | undefined {
  const offset = text.includes('\r') ? text.search(/\r(?!\n)/) : -1
  if (offset === -1) return undefined
  return { offset, problem: 'a carriage return stands here without a line feed. End lines with LF or CR LF.' }
}

/**
 * The parser is also the judge of the cuts: where it finds the same keys in the same lines, no quote and no bracket was
 * open there, so that the entries in between could be left out without another meaning for the rest.
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
  const left = scanned.filter(({ fields }) => fields === undefined)
  if (scanned.length > 0 && !hasKeysAt(tools, left, lineOf)) return undefined
  if (new Set(scanned.map(({ key }) => key)).size < scanned.length) return undefined
  // Where nothing was cut by line, nothing was left out either.
  const cuts = scanned.length > 0 ? scanned : buildOutline(root, source).entries
  return { source, sections, entries: collectEntries(cuts, tools, lineOf), root, originalOffset, outline, ...memories }
}

/** A member of a mapping. */
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
  const { sections, entries: cuts } = buildOutline(root, source)
  const entries = collectEntries(cuts, findPair(root, 'tools')?.target, ({ at }) => lineAt(source, at))
  return { ok: true, file: { source, sections, entries, root, originalOffset: (offset) => offset, ...memories } }
}

function collectEntries(
  cuts: readonly EntryRange[],
  tools: YamlValue | undefined,
  lineOf: (pair: YamlPair) => number,
): readonly FileEntry[] {
  const known = new Set(cuts.map(({ key }) => key))
  const cutEntries = cuts.map((range): FileEntry => {
    const parsed = range.fields === undefined ? findPair(tools, range.key)?.target : undefined
    return { key: range.key, line: range.line, range, ...(parsed && { parsed }) }
  })
  const others = pairsOf(tools).filter(({ key }) => !known.has(key))
  return [...cutEntries, ...others.map((pair) => ({ key: pair.key, line: lineOf(pair), parsed: pair.target }))]
}

/** What is left of a text for a parser, and where it stood. */
interface RemainingText {
  readonly text: string
  originalOffset(offset: number): number
}

interface Piece {
  readonly from: number
  readonly original: number
}

/** The text without the entries that could be read line by line. */
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

/** The cuts of a file that was parsed as a whole. */
function buildOutline(root: YamlValue, source: TextLines): Outline {
  const sections = listKeyRanges(root, documentEnd(source), source)
  const tools = sections.find(({ key }) => key === 'tools')
  const value = root.pairs?.get('tools')?.target
  return {
    sections: sections.map(({ key, line, end }) => ({ name: key, line, end })),
    entries: tools === undefined || value === undefined ? [] : listKeyRanges(value, tools.end, source),
  }
}

/** Whether a value is a mapping whose keys stand on lines of their own. */
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

/** The line of `...`, or the one after the last. */
export function documentEnd(source: TextLines): number {
  const marked = source.indents.findIndex(
    (indent, line) => indent === 0 && /^\.\.\.\s*(?:#|$)/.test(lineText(source, line)),
  )
  return marked === -1 ? source.starts.length : marked
}
