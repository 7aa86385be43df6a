import { isDeeperThan, type Json, quoteText, toCamelCase } from '@sallyport/core'
import { isCollection, isScalar } from 'yaml'
import { readPolicyFields } from '../../config/config.ts'
import { changeSafely, detectIndentation, insertLines, refuseUnparsed, toCommentText } from './insert-lines.ts'
import { findColumn } from './insertion-point.ts'
import { readEntryValue } from './matches-intent.ts'
import type { EntryRange } from './outline.ts'
import { type FileEntry, findPair, type ParsedFile, type ParseResult } from './parsed-file.ts'
import { quoteAscii } from './quoted-text.ts'
import type { EditResult, Splice } from './splice.ts'
import { BLANK, indentOf, lineStart, type TextLines } from './text-lines.ts'
import type { YamlPair } from './yaml-tree.ts'

/** A new value for a field of an existing entry. */
export interface FieldChange {
  /** The key of the entry, without quotes. */
  readonly key: string
  /** Such as `requires_approval`. */
  readonly field: string
  readonly value: Json
  /** Replaces the comment after the value. If missing, the old comment stays. */
  readonly comment?: string
  /** The same, but only of a comment that gives the reason of a guess: the value is not guessed any more. */
  readonly insteadOfGuess?: string
}

const MAX_DEPTH = 16
const MAX_COMMENT = 100
const MAX_SHOWN = 60

/** Replaces the value of a field, or adds the field to its entry. All other bytes stay the same. */
export function setField(parsing: ParseResult, change: FieldChange): EditResult {
  if (!parsing.ok) return refuseUnparsed(parsing)
  const { file } = parsing
  const entry = file.entries.find(({ key }) => key === change.key)
  if (entry === undefined) return refuse(`there is no entry ${quoteText(change.key, MAX_SHOWN)}`)
  const planned = planChange(file, entry, change)
  if ('why' in planned) return refuse(planned.why)
  const before = readEntryValue(entry) as Readonly<Record<string, Json>> | null
  const intent = {
    tools: new Map([[entry.key, { ...before, [planned.key]: change.value }]]),
    categories: new Map(),
  }
  return changeSafely({ file, intent, attempts: planned.attempts })
}

/** Makes all of the changes, or none. */
export function setFields(parsing: ParseResult, changes: readonly FieldChange[]): EditResult {
  if (!parsing.ok) return refuseUnparsed(parsing)
  return setTogether(parsing.file, changes) ?? setOneByOne(parsing, changes)
}

/** Checks the result only once: thousands of checks would take minutes. `undefined` if a change cannot be made like this. */
function setTogether(file: ParsedFile, changes: readonly FieldChange[]): EditResult | undefined {
  const entries = new Map(file.entries.map((entry) => [entry.key, entry]))
  const tools = new Map<string, Json>()
  const splices: Splice[] = []
  for (const change of changes) {
    const entry = entries.get(change.key)
    const planned = entry && planChange(file, entry, change)
    if (entry === undefined || planned === undefined || 'why' in planned) return undefined
    const before = (tools.get(entry.key) ?? readEntryValue(entry)) as Readonly<Record<string, Json>> | null
    tools.set(entry.key, { ...before, [planned.key]: change.value })
    splices.push(...(planned.attempts[0] ?? []))
  }
  const joined = joinSplices(splices)
  const result = joined && changeSafely({ file, intent: { tools, categories: new Map() }, attempts: [joined] })
  return result?.ok === true ? result : undefined
}

/** In the order of the text, with one splice for all lines that are inserted at one place. `undefined` if two overlap. */
function joinSplices(splices: readonly Splice[]): readonly Splice[] | undefined {
  const joined: Splice[] = []
  for (const splice of splices.toSorted((a, b) => a.at - b.at)) {
    const last = joined.at(-1)
    if (last === undefined || splice.at > last.at + last.removed.length) joined.push(splice)
    else if (canFollow(last, splice)) joined[joined.length - 1] = { ...last, inserted: last.inserted + splice.inserted }
    else return undefined
  }
  return joined
}

/** At the end of a file without a last line break, an insertion begins with one: a second one would leave an empty line. */
const canFollow = (last: Splice, { at, removed, inserted }: Splice): boolean =>
  last.at === at && last.removed === '' && removed === '' && !/^\r?\n/.test(inserted)

function setOneByOne(parsing: ParseResult & { readonly ok: true }, changes: readonly FieldChange[]): EditResult {
  const splices: Splice[] = []
  let { text } = parsing.file.source
  let current: ParseResult = parsing
  for (const change of changes) {
    const next = setField(current, change)
    if (!next.ok) return refuse(`${change.key}: ${next.why}`)
    splices.push(...next.splices)
    text = next.text
    current = next.parsing
  }
  return { ok: true, text, splices, skipped: [], parsing: current }
}

const refuse = (why: string): { readonly ok: false; readonly why: string } => ({ ok: false, why })

interface Plan {
  /** The field's name as it is, or will be, written in the file. */
  readonly key: string
  readonly attempts: readonly (readonly Splice[])[]
}

function planChange(file: ParsedFile, entry: FileEntry, change: FieldChange): Plan | { readonly why: string } {
  const problem = findValueProblem(change) ?? findEntryProblem(file, entry)
  if (problem !== undefined) return { why: problem }
  const span = findSpan(file, entry, change.field)
  if (span === undefined) return { key: change.field, attempts: planInsertions(file, entry, change) }
  if ('why' in span) return span
  const splice = planReplacement(file.source, span, change)
  return splice === undefined
    ? { why: `there is something else after the value of ${change.field}` }
    : { key: span.key, attempts: [[splice]] }
}

function findValueProblem({ field, value }: FieldChange): string | undefined {
  if (isDeeperThan(value, MAX_DEPTH)) return `the value of ${field} is nested too deeply`
  const [issue] = readPolicyFields({ [field]: value }).issues
  return issue && `${field}: ${issue.problem}`
}

function findEntryProblem(file: ParsedFile, { key, range, parsed }: FileEntry): string | undefined {
  if (range === undefined) return 'the entry is inherited, or is in a mapping in flow style ({…})'
  if (findPair(findPair(file.root, 'tools')?.target, key)?.aliased === true) return 'the entry is an alias (*…)'
  if (parsed === undefined || findColumn(parsed, file) !== undefined) return undefined
  return 'the entry is not written in block style, one field on each line'
}

/** Adds a line after the last field. If it would become part of a block scalar there, after or before all lines of the entry. */
function planInsertions(file: ParsedFile, { range, parsed }: FileEntry, change: FieldChange): Plan['attempts'] {
  if (range === undefined) return []
  const { source } = file
  const own = parsed === undefined ? range.fields?.[0]?.indent : findColumn(parsed, file)
  const level = own === undefined ? ' '.repeat(range.indent) + detectIndentation(file).step : ' '.repeat(own)
  const line = `${level}${change.field}: ${formatValue(change.value)}${formatComment(change) ?? ''}`
  const afterFields = findLineAfter(range, (at) => indentOf(source, at) > range.indent)
  const afterAll = findLineAfter(range, (at) => indentOf(source, at) !== BLANK && isIndented(source, at, range.indent))
  return [afterFields, afterAll, range.line + 1].map((at) => [insertLines(source, { line: at, lines: [line] })])
}

function findLineAfter({ line, end }: EntryRange, belongs: (line: number) => boolean): number {
  for (let at = end - 1; at > line; at--) if (belongs(at)) return at + 1
  return line + 1
}

const isIndented = (source: TextLines, line: number, indent: number): boolean =>
  source.text.startsWith(' '.repeat(indent + 1), lineStart(source, line))

const formatComment = ({ comment }: { readonly comment?: string | undefined }): string | undefined =>
  comment === undefined ? undefined : ` # ${toCommentText(comment, MAX_COMMENT)}`

function planReplacement(
  { text }: TextLines,
  { from, to, prefix }: ValueSpan,
  change: FieldChange,
): Splice | undefined {
  const value = prefix + formatValue(change.value)
  const comment = formatComment(isGuess(text, to) ? { comment: change.insteadOfGuess, ...change } : change)
  if (comment === undefined) {
    const space = text[to] === '#' ? ' ' : ''
    return { at: from, removed: text.slice(from, to), inserted: value + space }
  }
  const tail = /[^\r\n]*/y
  tail.lastIndex = to
  const [rest = ''] = tail.exec(text) ?? []
  if (!/^[ \t]*(?:#.*)?$/.test(rest)) return undefined
  return { at: from, removed: text.slice(from, to) + rest, inserted: value + comment }
}

/** Whether the comment after a value is one that discovery has written. */
function isGuess(text: string, to: number): boolean {
  const comment = /[ \t]*# inferred: /y
  comment.lastIndex = to
  return comment.test(text)
}

/** Formats a value on one line, so that every YAML version reads it the same way. */
function formatValue(value: Json): string {
  if (typeof value === 'string') return quoteAscii(value)
  if (typeof value !== 'object' || value === null) return String(value)
  if (Array.isArray(value)) return `[${value.map(formatValue).join(', ')}]`
  const members = Object.entries(value).map(([key, member]) => `${quoteAscii(key)}: ${formatValue(member ?? null)}`)
  return `{${members.join(', ')}}`
}

/** The range of a field's value, and the space that must be between the key and a new value. */
interface ValueSpan {
  /** The field's name as written in the file. */
  readonly key: string
  readonly from: number
  readonly to: number
  readonly prefix: string
}

type SpanResult = ValueSpan | { readonly why: string } | undefined

/** The range of the value that an entry itself sets; `undefined` if it does not set the field or inherits it. */
function findSpan(file: ParsedFile, { range, parsed }: FileEntry, field: string): SpanResult {
  const isMeant = (key: string): boolean => toCamelCase(key) === toCamelCase(field)
  if (parsed !== undefined) {
    const own = [...(parsed.pairs?.values() ?? [])].filter(({ inherited }) => !inherited)
    const pair = own.find(({ key }) => isMeant(key))
    return pair && parsedSpan(file, pair, findColumn(parsed, file) ?? 0)
  }
  const plain = range?.fields?.find(({ written }) => isMeant(written.key))
  if (plain === undefined) return undefined
  const { line, indent, written } = plain
  const start = lineStart(file.source, line) + indent
  return toValueSpan(file, { key: written.key, from: start + written.from, to: start + written.to })
}

function toValueSpan({ source }: ParsedFile, span: Omit<ValueSpan, 'prefix'>): ValueSpan {
  return { ...span, prefix: source.text[span.from - 1] === ':' ? ' ' : '' }
}

function parsedSpan(file: ParsedFile, { key, target, aliased }: YamlPair, column: number): SpanResult {
  const { node } = target
  if (aliased) return { why: `the value of ${key} is an alias (*…)` }
  if (node === null) return { why: `the value of ${key} cannot be found` }
  if (node.anchor !== undefined || node.tag !== undefined) return { why: `the value of ${key} has an anchor or a tag` }
  const from = file.originalOffset(node.range[0])
  // Both ends are in the same entry, and only whole entries were removed from the parsed text.
  const to = from + node.range[1] - node.range[0]
  if (isScalar(node) && node.type?.startsWith('BLOCK') === true) return { why: `the value of ${key} is a block scalar` }
  if (!isCollection(node) || node.flow === true) return toValueSpan(file, { key, from, to })
  const written = file.source.text.slice(from, to).trimEnd()
  if (written.includes('#')) return { why: `the value of ${key} contains comments` }
  const start = file.source.text.lastIndexOf('\n', from) + 1
  return { key, from, to: from + written.length, prefix: ' '.repeat(Math.max(0, column + 1 - (from - start))) }
}
