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

/** The category of discovered tools. */
const MCP_CATEGORY: NewCategory = { name: 'mcp', description: 'Tools from MCP servers', riskLevel: 'medium' }

const HEADER = [
  '# What each tool may do, and on which conditions. Every field is explained in docs/tools-yaml.md.',
  '#',
  '# A new tool gets an entry at the end of `tools`. Existing lines are never changed by that: you may edit, comment,',
  '# sort and commit them. Values marked `inferred` are guesses from names and hints: review them.',
  '# `sallyport tools --risk high` lists the tools that can do harm.',
  '#',
  '# A saved change is in force within a second. A file with an error is not used: the last valid one stays in force.',
  '# A `pin` locks a tool to the definition it had here: `sallyport tools accept` shows what its server changed since.',
  '',
]

/** Adds entries at the end of `tools` for tools that have none. All other bytes stay the same. */
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

/** Selects entries that are not in the file yet and can be written, each one once. */
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

/** Why a name cannot be a key. A name with `*` would also apply to other tools, which a server must not influence (GOV-4). */
function findNameProblem({ name }: NewEntry): string | undefined {
  if (isNameGlob(name)) return 'its name contains * or ?, which would make its key a pattern for other names'
  if (formatKey(name).length > MAX_KEY_LENGTH)
    return `its key would be longer than ${MAX_KEY_LENGTH} characters, the maximum in YAML`
  return undefined
}

interface Addition {
  readonly file: ParsedFile
  readonly intent: Intent
  readonly entries: readonly string[]
  /** The lines of a new `tool_categories` section, if there is none. */
  readonly section: readonly string[]
  /** The insertion of the category into the existing section. */
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
  const point = hasCategory(file, category) ? undefined : findInsertionPoint(file, 'tool_categories')
  const base = { file, entries, section: [], aside: [], skipped: [], intent: { tools, categories: new Map() } }
  if (point === undefined) return base
  if (point.kind === 'closed') {
    return { ...base, skipped: [{ name: `tool_categories.${category.name}`, why: point.why }] }
  }
  const examples = fresh.slice(0, 1).map(({ name }) => name)
  const intent = { tools, categories: new Map([[category.name, toCategoryValue(category, examples)]]) }
  const indented = (indent: string): readonly string[] =>
    formatCategory(category, examples, step).map((line) => indent + line)
  if (point.kind === 'missing') return { ...base, intent, section: ['tool_categories:', ...indented(level)] }
  const own = point.indent === undefined ? level : ' '.repeat(point.indent)
  return { ...base, intent, aside: [{ line: point.line, lines: indented(own) }] }
}

const hasCategory = ({ root }: ParsedFile, { name }: NewCategory): boolean =>
  findPair(findSection(root, 'tool_categories')?.target, name) !== undefined

/** Possible insertions: after a blank line, directly after the last entry, or after all blank lines. */
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
  // After a category that is added to the last section, so that only one position of the file changes.
  const isLast = findSection(file.root, 'tool_categories')?.key === file.sections.at(-1)?.name
  const line = (isLast ? aside[0]?.line : undefined) ?? end
  return [
    { line, lines: ['', ...lines] },
    { line, lines },
  ]
}

/** An inferred value, and the reason for it. */
interface Inferred<Value> {
  readonly value: Value
  readonly reason: string
}

/** A discovered tool and its new entry. Names and descriptions come from the server and are not trusted. */
export interface NewEntry {
  /** The canonical name. */
  readonly name: string
  readonly description?: string
  readonly discoveredAt: Date
  /** Suspicious findings in the description and the schemas. */
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
/** The column of the reasons, relative to the key. */
const REASON_COLUMN = 'permission: [READ, CONNECT] '.length

/** With this beginning, YAML 1.1 and 1.2 cannot read the key as a number, a boolean or a date. */
const PLAIN_KEY = /^mcp__[A-Za-z0-9_.-]+$/

/** Formats a key, with quotes if needed. */
const formatKey = (name: string): string => (PLAIN_KEY.test(name) ? name : quoteAscii(name))

/** The lines of an entry. Fields are indented by `step`. */
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

/** The number of characters of an entry, including the blank line before it. */
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

/** The value that an entry must have when it is read again. */
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
