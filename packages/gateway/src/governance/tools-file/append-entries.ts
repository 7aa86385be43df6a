import { isNameGlob, type JsonObject, type Mode, type Permission, type RiskLevel } from '@sallyport/core'
import {
  changeSafely,
  detectIndentation,
  type Insertion,
  insertAll,
  refuseUnparsed,
  toCommentText,
} from './insert-lines.ts'
import { findInsertionPoint, type InsertionPoint } from './insertion-point.ts'
import type { Intent } from './matches-intent.ts'
import { MAX_KEY_LENGTH } from './outline.ts'
import { findPair, type ParsedFile, type ParseResult } from './parsed-file.ts'
import { quoteAscii } from './quoted-text.ts'
import { findSection } from './read-sections.ts'
import type { EditResult, SkippedEntry } from './splice.ts'

/** The category that discovery puts a tool in. */
const MCP_CATEGORY: NewCategory = { name: 'mcp', description: 'Tools from MCP servers', riskLevel: 'medium' }

const HEADER = [
  '# What each tool may do, and on which conditions. Every field is explained in docs/tools-yaml.md.',
  '#',
  '# A new tool gets an entry at the end of `tools`. Nothing that stands here is changed by that: it is yours to edit,',
  '# to comment, to sort and to commit. What is marked `inferred` is a guess from names and hints: review it.',
  '# `sallyport tools --risk high` lists what can do harm.',
  '#',
  '# A saved change is in force within a second. A file with a mistake in it is not: what was in force before stays so.',
  '# A `pin` locks a tool to the definition it had here: `sallyport tools accept` shows what its server changed since.',
  '',
]

/** Adds entries for tools that have none, at the end of `tools`. Everything else stays as it is, byte for byte. */
export function appendEntries(parsing: ParseResult, entries: readonly NewEntry[], category = MCP_CATEGORY): EditResult {
  if (!parsing.ok) return refuseUnparsed(parsing)
  const { file } = parsing
  const { fresh, skipped } = selectNew(entries, file)
  if (fresh.length === 0) return { ok: true, text: file.source.text, splices: [], skipped, parsing }
  const tools = findInsertionPoint(file, 'tools')
  if (tools.kind === 'closed') return { ok: false, why: tools.why }
  const addition = createAddition(file, fresh, category)
  const attempts = buildAttempts(addition, tools).map((main) => insertAll(file.source, [...addition.aside, main]))
  const change = changeSafely({ file, intent: addition.intent, attempts })
  return change.ok ? { ...change, skipped: [...skipped, ...addition.skipped] } : change
}

interface SelectedEntries {
  readonly fresh: readonly NewEntry[]
  readonly skipped: readonly SkippedEntry[]
}

/** Those that are not in the file yet, once each, and can be. */
function selectNew(entries: readonly NewEntry[], file: ParsedFile): SelectedEntries {
  const known = new Set(file.entries.map(({ key }) => key))
  const fresh: NewEntry[] = []
  const skipped: SkippedEntry[] = []
  for (const entry of entries) {
    if (known.has(entry.name)) continue
    known.add(entry.name)
    const why = findNameProblem(entry)
    if (why === undefined) fresh.push(entry)
    else skipped.push({ name: entry.name, why })
  }
  return { fresh, skipped }
}

/** Why a name cannot be a key. One with a `*` would be an entry about other tools too, which a server has no say in (GOV-4). */
function findNameProblem({ name }: NewEntry): string | undefined {
  if (isNameGlob(name)) return 'its name has a * or ? in it, which stand for other names in a key'
  if (formatKey(name).length > MAX_KEY_LENGTH)
    return `its key would be longer than the ${MAX_KEY_LENGTH} characters of YAML`
  return undefined
}

interface Addition {
  readonly file: ParsedFile
  readonly intent: Intent
  readonly entries: readonly string[]
  /** The lines of a section for the category, if there is none for any. */
  readonly section: readonly string[]
  /** The category in the section that there is. */
  readonly aside: readonly Insertion[]
  readonly skipped: readonly SkippedEntry[]
}

function createAddition(file: ParsedFile, fresh: readonly NewEntry[], category: NewCategory): Addition {
  const { level, step } = detectIndentation(file)
  const entries = fresh.flatMap((entry, index) => [
    ...(index === 0 ? [] : ['']),
    ...formatEntry(entry, step).map((line) => level + line),
  ])
  const tools = new Map(fresh.map((entry) => [entry.name, toEntryValue(entry)]))
  const place = hasCategory(file, category) ? undefined : findInsertionPoint(file, 'tool_categories')
  const nothing = { file, entries, section: [], aside: [], skipped: [], intent: { tools, categories: new Map() } }
  if (place === undefined) return nothing
  if (place.kind === 'closed') {
    return { ...nothing, skipped: [{ name: `tool_categories.${category.name}`, why: place.why }] }
  }
  const examples = fresh.slice(0, 1).map(({ name }) => name)
  const intent = { tools, categories: new Map([[category.name, toCategoryValue(category, examples)]]) }
  const indented = (indent: string): readonly string[] =>
    formatCategory(category, examples, step).map((line) => indent + line)
  if (place.kind === 'missing') return { ...nothing, intent, section: ['tool_categories:', ...indented(level)] }
  const own = place.indent === undefined ? level : ' '.repeat(place.indent)
  return { ...nothing, intent, aside: [{ line: place.line, lines: indented(own) }] }
}

const hasCategory = ({ root }: ParsedFile, { name }: NewCategory): boolean =>
  findPair(findSection(root, 'tool_categories')?.target, name) !== undefined

/** The ways in which the entries can be put in: with a blank line before, or close, or behind all blank lines. */
function buildAttempts(addition: Addition, tools: Exclude<InsertionPoint, { kind: 'closed' }>): readonly Insertion[] {
  const { entries, section } = addition
  if (tools.kind === 'missing') return buildNewSectionAttempts(addition, tools.line)
  const { line, lineAfterBlanks } = tools
  const lines = [...entries, ...(section.length > 0 ? ['', ...section] : [])]
  if (tools.empty) return [{ line, lines }]
  return [
    { line, lines: ['', ...lines] },
    { line, lines },
    { line: lineAfterBlanks, lines },
  ]
}

function buildNewSectionAttempts({ file, entries, section, aside }: Addition, end: number): readonly Insertion[] {
  const isNew = file.source.text.trim() === ''
  const lines = [...(isNew ? HEADER : []), ...section, ...(section.length > 0 ? [''] : []), 'tools:', ...entries]
  if (isNew) return [{ line: end, lines }]
  // Behind a category that goes to the last section, so that one place is changed and not two.
  const isLast = findSection(file.root, 'tool_categories')?.key === file.sections.at(-1)?.name
  const line = (isLast ? aside[0]?.line : undefined) ?? end
  return [
    { line, lines: ['', ...lines] },
    { line, lines },
  ]
}

/** A value that nobody wrote, and why it is this one. */
interface Inferred<Value> {
  readonly value: Value
  readonly reason: string
}

/** A tool that was found, and what is to be written about it. Names and texts are the server's, and so are they treated. */
export interface NewEntry {
  /** The canonical name. */
  readonly name: string
  readonly description?: string
  readonly discoveredAt: Date
  /** What the description and the schemas were found to hide. */
  readonly findings: readonly string[]
  readonly category: string
  readonly permission: Inferred<readonly Permission[]>
  readonly riskLevel: Inferred<RiskLevel>
  readonly requiresApproval: boolean
  readonly allowedInModes: readonly Mode[]
  readonly pin: string
}

/** A category that entries refer to. */
interface NewCategory {
  readonly name: string
  readonly description: string
  readonly riskLevel: RiskLevel
}

const MAX_DESCRIPTION = 70
const MAX_REMARK = 100
const MAX_FINDINGS = 5
/** Where the reasons begin, seen from the key. */
const REASON_COLUMN = 'permission: [READ, CONNECT] '.length

/** No other beginning could be taken for a number, a truth value or a date by YAML 1.1 or 1.2. */
const PLAIN_KEY = /^mcp__[A-Za-z0-9_.-]+$/

/** A key as it is written. */
const formatKey = (name: string): string => (PLAIN_KEY.test(name) ? name : quoteAscii(name))

/** The lines of an entry, each indented by so many steps. */
function formatEntry(entry: NewEntry, step: string): readonly string[] {
  const { permission, riskLevel, requiresApproval, allowedInModes } = entry
  const fields = [
    `category: ${quoteAscii(entry.category)}`,
    withReason(`permission: [${permission.value.join(', ')}]`, `inferred: ${permission.reason}`),
    withReason(`risk_level: "${riskLevel.value}"`, `inferred: ${riskLevel.reason}`),
    `requires_approval: ${requiresApproval}`,
    `allowed_in_modes: [${allowedInModes.map((mode) => `"${mode}"`).join(', ')}]`,
    withReason(`pin: ${quoteAscii(entry.pin)}`, 'digest of name, description, schemas, annotations'),
    '# forbidden_paths: []',
    '# allowed_paths: []',
    '# timeout_seconds: 30',
  ]
  return [...formatRemarks(entry), `${formatKey(entry.name)}:`, ...fields.map((field) => step + field)]
}

/** How many characters it takes, its blank line among them. */
export const measureEntry = (entry: NewEntry): number =>
  formatEntry(entry, '  ').reduce((size, line) => size + line.length + 3, 1)

function formatRemarks({ discoveredAt, description = '', findings }: NewEntry): readonly string[] {
  const about = toCommentText(description, MAX_DESCRIPTION)
  const more = findings.length - MAX_FINDINGS
  return [
    `# Auto-discovered: ${discoveredAt.toISOString().replace(/\.\d+Z$/, 'Z')}`,
    ...(about === '' ? [] : [`# Description: ${about}`]),
    ...findings.slice(0, MAX_FINDINGS).map((finding) => `# Warning: ${toCommentText(finding, MAX_REMARK)}`),
    ...(more > 0 ? [`# Warning: and ${more} more`] : []),
  ]
}

function withReason(field: string, reason: string): string {
  return `${`${field} `.padEnd(REASON_COLUMN)}# ${toCommentText(reason, MAX_REMARK)}`
}

/** What an entry has to be once it is read again. */
export function toEntryValue(entry: NewEntry): JsonObject {
  return {
    category: entry.category,
    permission: entry.permission.value,
    risk_level: entry.riskLevel.value,
    requires_approval: entry.requiresApproval,
    allowed_in_modes: entry.allowedInModes,
    pin: entry.pin,
  }
}

function formatCategory(category: NewCategory, examples: readonly string[], step: string): readonly string[] {
  const fields = [
    `description: ${quoteAscii(category.description)}`,
    `risk_level: "${category.riskLevel}"`,
    `examples: [${examples.map(quoteAscii).join(', ')}]`,
  ]
  return [`${quotedUnlessWord(category.name)}:`, ...fields.map((field) => step + field)]
}

const quotedUnlessWord = (name: string): string => (name === 'mcp' ? name : quoteAscii(name))

function toCategoryValue({ description, riskLevel }: NewCategory, examples: readonly string[]): JsonObject {
  return { description, risk_level: riskLevel, examples }
}
