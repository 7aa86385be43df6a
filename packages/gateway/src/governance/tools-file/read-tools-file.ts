import {
  type ParsedToolsFile,
  type PolicyField,
  type PolicyFields,
  type ToolEntry,
  toVisibleText,
} from '@sallyport/core'
import { readPolicyFields } from '../../config/config.ts'
import { createFileIssue, createFileIssueLog, type FileIssue, type FileIssueLog } from './file-issue.ts'
import { MAX_MEMO, type PlainField } from './outline.ts'
import type { FileEntry, ParsedFile, ParseResult } from './parsed-file.ts'
import type { PlainLine } from './plain-line.ts'
import { findSection, readCategories, readModePolicies, reportUnknown, SECTIONS } from './read-sections.ts'
import { lineAt, lineStart } from './text-lines.ts'
import type { YamlPair, YamlValue } from './yaml-tree.ts'

export type ToolsFileResult =
  | { readonly ok: true; readonly file: ParsedToolsFile; readonly warnings: readonly FileIssue[] }
  | { readonly ok: false; readonly issue: FileIssue }

/** Validates a parsed tools.yaml. */
export function readToolsFile(parsing: ParseResult, path: string): ToolsFileResult {
  if (!parsing.ok)
    return { ok: false, issue: createFileIssue(parsing.source, parsing.problem.offset, parsing.problem.problem) }
  return readParsed(parsing.file, path)
}

function readParsed(file: ParsedFile, path: string): ToolsFileResult {
  const log = createFileIssueLog(file.source)
  checkRoot(file, log.error)
  const reader = { file, log }
  for (const pair of file.root.pairs?.values() ?? []) {
    if (!SECTIONS.some((name) => findSection(file.root, name) === pair)) reportUnknown(pair, SECTIONS, reader)
  }
  const categories = readCategories(reader)
  const modePolicies = readModePolicies(reader)
  const entryReader = { ...reader, memo: new Map() }
  const entries = file.entries.map((entry) => readToolEntry(entry, entryReader))
  const [issue] = log.errors
  if (issue !== undefined) return { ok: false, issue }
  return { ok: true, file: { path, entries, categories, modePolicies }, warnings: log.warnings }
}

function checkRoot({ root, originalOffset }: ParsedFile, error: (offset: number, problem: string) => void): void {
  const tools = root.pairs?.get('tools')
  const expected = 'expected a mapping'
  if (root.pairs === undefined && root.value !== null) error(0, `${expected} with the key tools.`)
  if (tools?.target.pairs === undefined && (tools?.target.value ?? null) !== null) {
    error(originalOffset(tools?.at ?? 0), `tools: ${expected} of tool names to their fields.`)
  }
}

type PolicyResult = ReturnType<typeof readPolicyFields>
type PathStep = string | number

interface EntryReader {
  readonly file: ParsedFile
  readonly log: FileIssueLog
  /** Results of lines that were already read: most lines are in the file many times. */
  readonly memo: Map<PlainLine, PolicyResult>
}

/** An entry while it is being read. */
interface Draft {
  readonly reader: EntryReader
  readonly fields: Partial<Record<PolicyField, unknown>>
  readonly lines: Partial<Record<PolicyField, number>>
}

/** Reads one entry. Problems are added to the log. */
function readToolEntry(entry: FileEntry, reader: EntryReader): ToolEntry {
  const { range } = entry
  // Entries from the parser are not cached: with aliases, a change elsewhere can change their meaning.
  if (range?.fields === undefined) return readUncached(entry, reader)
  const { file, log } = reader
  const known = file.readings.get(range)
  if (known !== undefined) return known
  const issues = log.errors.length + log.warnings.length
  const read = readUncached(entry, reader)
  if (log.errors.length + log.warnings.length === issues) file.readings.set(range, read)
  return read
}

function readUncached({ key, line, range, parsed }: FileEntry, reader: EntryReader): ToolEntry {
  const draft: Draft = { reader, fields: {}, lines: {} }
  if (parsed !== undefined) addParsed(draft, parsed, lineStart(reader.file.source, line) + (range?.indent ?? 0))
  else for (const field of range?.fields ?? []) addPlain(draft, field)
  return { key, line: line + 1, fields: draft.fields as PolicyFields, lines: draft.lines }
}

function addPlain(draft: Draft, { line, indent, written }: PlainField): void {
  const { file, memo } = draft.reader
  const reading = readLine(written, memo)
  const offset = lineStart(file.source, line) + indent
  if (reading.issues.length > 0) report(draft, reading, () => offset)
  addFields(draft, reading, { line, offset })
}

const DIGEST = /^sha256-[0-9a-f]{64}$/

function readLine(written: PlainLine, memo: EntryReader['memo']): PolicyResult {
  const { key, value } = written
  // Every entry has a different pin, so caching does not help, and validating thousands of them would be slow.
  if (key === 'pin' && typeof value === 'string' && DIGEST.test(value)) return { fields: { pin: value }, issues: [] }
  const known = memo.get(written)
  if (known !== undefined) return known
  const reading = readPolicyFields({ [key]: value })
  if (memo.size < MAX_MEMO) memo.set(written, reading)
  return reading
}

function addParsed(draft: Draft, parsed: YamlValue, offset: number): void {
  const { source, originalOffset } = draft.reader.file
  if (parsed.pairs === undefined) {
    if (parsed.value !== null) report(draft, readPolicyFields(parsed.value), () => offset)
    return
  }
  for (const { key, at, target } of parsed.pairs.values()) {
    const reading = readPolicyFields({ [key]: target.value })
    const start = originalOffset(at)
    report(draft, reading, ([, ...path]) => originalOffset(findOffset(target, path) ?? at))
    addFields(draft, reading, { line: lineAt(source, start), offset: start })
  }
}

const DUPLICATE_KEY = 'the same key is also here in another spelling. Keep one of them.'

interface FieldLocation {
  readonly line: number
  readonly offset: number
}

function addFields({ reader, fields, lines }: Draft, reading: PolicyResult, { line, offset }: FieldLocation): void {
  for (const field in reading.fields) {
    const name = field as PolicyField
    if (name === 'misspelt' && Object.hasOwn(fields, name)) continue
    if (Object.hasOwn(fields, name)) reader.log.error(offset, DUPLICATE_KEY)
    fields[name] = reading.fields[name]
    lines[name] = line + 1
  }
}

function report({ reader }: Draft, { issues }: PolicyResult, offsetOf: (path: readonly PathStep[]) => number): void {
  for (const { path, problem, severity } of issues) {
    const addIssue = severity === 'error' ? reader.log.error : reader.log.warn
    addIssue(offsetOf(path), path.length === 0 ? problem : `${toVisibleText(path.join('.'))}: ${problem}`)
  }
}

/** The offset of a part of a value. It follows the path as far as the file has values. */
function findOffset(value: YamlValue, path: readonly PathStep[]): number | undefined {
  let found: number | undefined
  let inside: YamlValue | undefined = value
  for (const step of path) {
    const pair: YamlPair | undefined = inside?.pairs?.get(String(step))
    inside = pair?.target ?? (typeof step === 'number' ? inside?.items?.[step] : undefined)
    found = pair?.at ?? inside?.node?.range[0] ?? found
  }
  return found
}
