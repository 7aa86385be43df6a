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

/** The top-level keys, in the spelling that is written for people. */
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
    report(at, 'description: expected a text.', reader)
    return {}
  }
  // These two mean what they mean in an entry.
  const { fields, issues } = readPolicyFields({ [key]: target.value })
  for (const { problem } of issues) report(at, `${key}: ${problem}`, reader)
  const { riskLevel, requiresApprovalInModes } = fields
  return { ...(riskLevel && { riskLevel }), ...(requiresApprovalInModes && { requiresApprovalInModes }) }
}

export function readModePolicies(reader: SectionReader): ModePolicies {
  const policies = new Map<Mode, ModePolicy>()
  for (const { pair, line } of members('mode_policies', reader)) {
    const mode = MODES.find((known) => known === pair.key.toUpperCase())
    // Not a warning: who misspells a mode would believe its policy to be in force.
    if (mode === undefined)
      report(pair.at, `expected a mode (${MODES.join(', ')}).${didYouMean(pair.key, MODES)}`, reader)
    else if (policies.has(mode)) report(pair.at, 'this mode stands here in another spelling. Keep one of them.', reader)
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

/** The members of a mapping, of which there may be none. */
function readMapping({ key, at, target }: YamlPair, reader: SectionReader): readonly YamlPair[] {
  if (target.pairs === undefined && target.value !== null) report(at, `${key}: expected a mapping.`, reader)
  return [...(target.pairs?.values() ?? [])]
}

/** The members that are known, with their keys in one spelling; the others are told. */
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

/** Tells of a key that is not read. What was probably meant to restrict is a mistake: ignored, it would leave tools open. */
export function reportUnknown({ key, at }: YamlPair, known: readonly string[], { file, log }: SectionReader): void {
  const meant = findClosest(key, known)
  const name = quoteText(key, MAX_SHOWN)
  if (meant === undefined || DESCRIPTIVE_KEYS.includes(meant))
    log.warn(file.originalOffset(at), `${name} is not known and is ignored.${didYouMean(key, known)}`)
  else log.error(file.originalOffset(at), `${name} is not known.${didYouMean(key, known)}`)
}

function report(at: number, problem: string, { file, log }: SectionReader): void {
  log.error(file.originalOffset(at), problem)
}
