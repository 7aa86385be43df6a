import type { JsonObject, Mode, Permission, RiskLevel } from '@sallyport/core'
import { toCommentText } from './comment-text.ts'
import { quoteAscii } from './quoted-text.ts'

/** A value that nobody wrote, and why it is this one. */
export interface Inferred<Value> {
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
export interface NewCategory {
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
export const formatKey = (name: string): string => (PLAIN_KEY.test(name) ? name : quoteAscii(name))

/** The lines of an entry, each indented by so many steps. */
export function formatEntry(entry: NewEntry, step: string): readonly string[] {
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

export function formatCategory(category: NewCategory, examples: readonly string[], step: string): readonly string[] {
  const fields = [
    `description: ${quoteAscii(category.description)}`,
    `risk_level: "${category.riskLevel}"`,
    `examples: [${examples.map(quoteAscii).join(', ')}]`,
  ]
  return [`${quotedUnlessWord(category.name)}:`, ...fields.map((field) => step + field)]
}

const quotedUnlessWord = (name: string): string => (name === 'mcp' ? name : quoteAscii(name))

export function toCategoryValue({ description, riskLevel }: NewCategory, examples: readonly string[]): JsonObject {
  return { description, risk_level: riskLevel, examples }
}
