import {
  didYouMean,
  findClosest,
  MODES,
  type Mode,
  type ParsedToolsFile,
  quoteText,
  type ToolCategory,
  toCamelCase,
} from '@sallyport/core'
import { readPolicyFields } from '../../config/config.ts'
import type { FileIssueLog } from './file-issue.ts'
import type { ParsedFile } from './parsed-file.ts'
import { lineAt } from './text-lines.ts'
import type { YamlPair, YamlValue } from './yaml-tree.ts'

/** The top-level keys, in the spelling that the documentation uses. */
export const SECTIONS = ['tool_categories', 'mode_policies', 'tools'] as const

const CATEGORY_KEYS = ['description', 'risk_level', 'requires_approval_in_modes', 'examples']
const MODE_KEYS = ['allowed_categories']

type ModePolicies = ParsedToolsFile['modePolicies']
type ModePolicy = ModePolicies extends ReadonlyMap<Mode, infer Policy> ? Policy : never

interface SectionReader {
  readonly file: ParsedFile
  readonly log: FileIssueLog
}

/** A top-level section in either spelling. */
export const findSection = (root: YamlValue, name: string): YamlPair | undefined =>
  root.pairs?.get(name) ?? root.pairs?.get(toCamelCase(name))

export function readCategories(reader: SectionReader): ReadonlyMap<string, ToolCategory> {
  const categories = new Map<string, ToolCategory>()
  for (const { pair, line } of members('tool_categories', reader)) {
    const category: { -readonly [Key in keyof ToolCategory]: ToolCategory[Key] } = { line }
    for (const field of listKnownFields(pair, CATEGORY_KEYS, reader))
      Object.assign(category, readCategoryField(field, reader))
    categories.set(pair.key, category)
  }
  return categories
}

function readCategoryField({ key, at, target }: YamlPair, reader: SectionReader): Partial<ToolCategory> {
  if (key === 'examples') return {}
  if (key === 'description') {
    if (typeof target.value === 'string') return { description: target.value }
    report(at, 'description: expected a string.', reader)
    return {}
  }
  // The other two keys have the same meaning as in an entry.
  const { fields, issues } = readPolicyFields({ [key]: target.value })
  for (const { problem } of issues) report(at, `${key}: ${problem}`, reader)
  const { riskLevel, requiresApprovalInModes } = fields
  return { ...(riskLevel && { riskLevel }), ...(requiresApprovalInModes && { requiresApprovalInModes }) }
}

export function readModePolicies(reader: SectionReader): ModePolicies {
  const policies = new Map<Mode, ModePolicy>()
  for (const { pair, line } of members('mode_policies', reader)) {
    const mode = MODES.find((known) => known === pair.key.toUpperCase())
    // An error and not a warning: with a misspelt mode, people would believe that its policy is in force.
    if (mode === undefined)
      report(pair.at, `expected a mode (${MODES.join(', ')}).${didYouMean(pair.key, MODES)}`, reader)
    else if (policies.has(mode))
      report(pair.at, 'this mode is also here in another spelling. Keep one of them.', reader)
    else policies.set(mode, readModePolicy(pair, line, reader))
  }
  return policies
}

function readModePolicy(pair: YamlPair, line: number, reader: SectionReader): ModePolicy {
  const [field] = listKnownFields(pair, MODE_KEYS, reader)
  if (field === undefined) return { line }
  const allowed: unknown = field.target.value
  if (Array.isArray(allowed) && allowed.every((name) => typeof name === 'string')) {
    return { line, allowedCategories: allowed }
  }
  report(field.at, 'allowed_categories: expected a list of categories, such as ["mcp"].', reader)
  return { line }
}

interface Member {
  readonly pair: YamlPair
  readonly line: number
}

function members(name: string, reader: SectionReader): readonly Member[] {
  const section = findSection(reader.file.root, name)
  if (section === undefined) return []
  return readMapping(section, reader).map((pair) => {
    return { pair, line: lineAt(reader.file.source, reader.file.originalOffset(pair.at)) + 1 }
  })
}

/** The members of a mapping, which may be empty. */
function readMapping({ key, at, target }: YamlPair, reader: SectionReader): readonly YamlPair[] {
  if (target.pairs === undefined && target.value !== null) report(at, `${key}: expected a mapping.`, reader)
  return [...(target.pairs?.values() ?? [])]
}

/** The known members, with their keys in one spelling. Unknown ones are reported. */
function listKnownFields(pair: YamlPair, known: readonly string[], reader: SectionReader): readonly YamlPair[] {
  return readMapping(pair, reader).flatMap((field) => {
    const key = known.find((name) => name === field.key || toCamelCase(name) === field.key)
    if (key !== undefined) return [{ ...field, key }]
    reportUnknown(field, known, reader)
    return []
  })
}

const MAX_SHOWN = 60

const DESCRIPTIVE_KEYS = ['description', 'examples']

/** Reports an unknown key. It is an error if it was probably meant to restrict: ignoring it would leave tools open. */
export function reportUnknown({ key, at }: YamlPair, known: readonly string[], { file, log }: SectionReader): void {
  const closest = findClosest(key, known)
  const name = quoteText(key, MAX_SHOWN)
  if (closest === undefined || DESCRIPTIVE_KEYS.includes(closest))
    log.warn(file.originalOffset(at), `${name} is not known and is ignored.${didYouMean(key, known)}`)
  else log.error(file.originalOffset(at), `${name} is not known.${didYouMean(key, known)}`)
}

function report(at: number, problem: string, { file, log }: SectionReader): void {
  log.error(file.originalOffset(at), problem)
}
