import { type PolicyField, type PolicyFields, type ToolEntry, visibleText } from '@sallyport/core'
import { readPolicyFields } from '../../config/config.ts'
import type { IssueLog } from './file-issue.ts'
import { lineAt, startOf } from './lined-text.ts'
import { MAX_MEMO, type PlainField } from './outline.ts'
import type { FileEntry, ParsedFile } from './parsed-file.ts'
import type { PlainLine } from './plain-line.ts'
import type { YamlPair, YamlValue } from './yaml-tree.ts'

type PolicyReading = ReturnType<typeof readPolicyFields>
type Step = string | number

export interface EntryReader {
  readonly file: ParsedFile
  readonly log: IssueLog
  /** What lines were found to say: most stand in the file many times. */
  readonly memo: Map<PlainLine, PolicyReading>
}

/** An entry that is being read. */
interface Draft {
  readonly reader: EntryReader
  readonly fields: Partial<Record<PolicyField, unknown>>
  readonly lines: Partial<Record<PolicyField, number>>
}

/** What one entry says. Problems go into the log. */
export function readEntry(entry: FileEntry, reader: EntryReader): ToolEntry {
  const { cut } = entry
  // What the parser reads, aliases for one, may mean something else after a change elsewhere.
  if (cut?.fields === undefined) return readAnew(entry, reader)
  const { file, log } = reader
  const known = file.readings.get(cut)
  if (known !== undefined) return known
  const issues = log.errors.length + log.warnings.length
  const read = readAnew(entry, reader)
  if (log.errors.length + log.warnings.length === issues) file.readings.set(cut, read)
  return read
}

function readAnew({ key, line, cut, parsed }: FileEntry, reader: EntryReader): ToolEntry {
  const draft: Draft = { reader, fields: {}, lines: {} }
  if (parsed !== undefined) addParsed(draft, parsed, startOf(reader.file.source, line) + (cut?.indent ?? 0))
  else for (const field of cut?.fields ?? []) addPlain(draft, field)
  return { key, line: line + 1, fields: draft.fields as PolicyFields, lines: draft.lines }
}

function addPlain(draft: Draft, { line, indent, written }: PlainField): void {
  const { file, memo } = draft.reader
  const reading = readLine(written, memo)
  const offset = startOf(file.source, line) + indent
  if (reading.issues.length > 0) report(draft, reading, () => offset)
  add(draft, reading, { line, offset })
}

const DIGEST = /^sha256-[0-9a-f]{64}$/

function readLine(written: PlainLine, memo: EntryReader['memo']): PolicyReading {
  const { key, value } = written
  // The one line that no two entries share: thousands of them would be all that takes long here.
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
    report(draft, reading, ([, ...path]) => originalOffset(offsetBelow(target, path) ?? at))
    add(draft, reading, { line: lineAt(source, start), offset: start })
  }
}

const TWIN = 'the same key stands here in another spelling. Keep one of them.'

interface Place {
  readonly line: number
  readonly offset: number
}

function add({ reader, fields, lines }: Draft, reading: PolicyReading, { line, offset }: Place): void {
  for (const field in reading.fields) {
    const name = field as PolicyField
    if (name === 'misspelt' && Object.hasOwn(fields, name)) continue
    if (Object.hasOwn(fields, name)) reader.log.error(offset, TWIN)
    fields[name] = reading.fields[name]
    lines[name] = line + 1
  }
}

function report({ reader }: Draft, { issues }: PolicyReading, offsetOf: (path: readonly Step[]) => number): void {
  for (const { path, problem, severity } of issues) {
    const say = severity === 'error' ? reader.log.error : reader.log.warn
    say(offsetOf(path), path.length === 0 ? problem : `${visibleText(path.join('.'))}: ${problem}`)
  }
}

/** Where a part of a value stands, as far down the path as the file goes. */
function offsetBelow(value: YamlValue, path: readonly Step[]): number | undefined {
  let found: number | undefined
  let inside: YamlValue | undefined = value
  for (const step of path) {
    const pair: YamlPair | undefined = inside?.pairs?.get(String(step))
    inside = pair?.target ?? (typeof step === 'number' ? inside?.items?.[step] : undefined)
    found = pair?.at ?? inside?.node?.range[0] ?? found
  }
  return found
}
