import { JsonScanner } from '@sallyport/core'
import { joinKey, quote } from '../reading/config-issue.ts'
import { createIssueLog, type IssueLog } from '../reading/issue-log.ts'
import { type LocatedEntry, type LocatedNode, parseTree } from '../reading/located-tree.ts'
import type { ProfileSettings, Profiles } from '../settings.ts'
import { readProfileFields } from './profile-fields.ts'
import { agentSlug, DEFAULT_VARIANT, foldVariant, isReservedVariant, profileKey } from './profile-name.ts'

export interface ProfilesResult {
  /** Only to be used when there is no error. */
  readonly profiles: Profiles
  readonly errors: IssueLog['errors']
}

/** Agents are slugs, written in this file in capitals: CLAUDE_CODE is claude-code. */
const AGENT = /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/
/** What can forge a line of a log or a screen. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u
const MAX_VARIANT_LENGTH = 256
const SELECTION = 'selected_mcp_tools'

/** What profiles.json says of agents and their variants. It does not throw. */
export function readProfiles(file: string, bytes: Buffer): ProfilesResult {
  const tree = parseTree(bytes.toString('utf8'))
  const log = createIssueLog(file, tree.positionOf)
  const flaw = findJsonError(bytes)
  if (flaw !== undefined) log.error({ offset: flaw, key: '' }, 'here it stops being JSON.')
  else for (const { offset, problem } of tree.problems) log.error({ offset, key: '' }, problem)
  const profiles = new Map<string, ProfileSettings>()
  if (log.errors.length === 0) for (const agent of listAgents(tree.root, log)) readAgent(agent, { file, profiles, log })
  return { profiles, errors: log.errors }
}

/** Where the text stops being JSON, if it does. YAML, with which places are found, takes more than that. */
function findJsonError(bytes: Buffer): number | undefined {
  const scanner = new JsonScanner()
  scanner.feed(bytes)
  if (scanner.end()) return undefined
  const again = new JsonScanner()
  for (let at = 0; at < bytes.length; at++) {
    again.feed(bytes.subarray(at, at + 1))
    if (again.failure !== undefined) return bytes.toString('utf8', 0, at).length
  }
  return bytes.toString('utf8').length
}

function listAgents(root: LocatedNode, log: IssueLog): readonly LocatedEntry[] {
  const executors = readMembers({ node: root, offset: 0 }, '', log).find(({ key }) => key === 'executors')
  if (executors === undefined) return []
  return readMembers(executors, 'executors', log).filter(({ key, offset }) => {
    if (AGENT.test(key)) return true
    const problem = `expected an agent in capitals, such as "CLAUDE_CODE"; got ${quote(key)}.`
    log.error({ offset, key: joinKey('executors', key) }, problem)
    return false
  })
}

interface ReadContext {
  readonly file: string
  readonly profiles: Map<string, ProfileSettings>
  readonly log: IssueLog
}

/** What counts for every variant of an agent that does not say otherwise. */
type SharedSelection = Pick<ProfileSettings, 'selectedMcpTools' | 'inheritsSelection' | 'place'>

function readAgent(entry: LocatedEntry, taking: ReadContext): void {
  const { file, profiles, log } = taking
  const agent = agentSlug(entry.key)
  const key = joinKey('executors', entry.key)
  const members = readMembers(entry, key, log)
  const selection = members.find((member) => member.key === SELECTION)
  const shared = selection && readSharedSelection({ ...selection, path: key }, taking)
  for (const variant of members)
    if (variant !== selection) readVariant(agent, { ...variant, path: key, shared }, taking)
  const implied = profileKey(agent, DEFAULT_VARIANT)
  if (profiles.has(implied)) return
  const place = { file, line: log.lineOf({ offset: entry.offset, key }) }
  profiles.set(implied, { agent, variant: DEFAULT_VARIANT.toUpperCase(), place, ...shared })
}

function readSharedSelection(
  entry: LocatedEntry & { readonly path: string },
  { file, log }: ReadContext,
): SharedSelection {
  const place = { file, line: log.lineOf({ offset: entry.offset, key: joinKey(entry.path, entry.key) }) }
  return { ...readProfileFields([entry], entry.path, log), inheritsSelection: true, place }
}

interface VariantEntry extends LocatedEntry {
  readonly path: string
  readonly shared: SharedSelection | undefined
}

function readVariant(agent: string, entry: VariantEntry, taking: ReadContext): void {
  const { file, profiles, log } = taking
  const subject = { offset: entry.offset, key: joinKey(entry.path, entry.key) }
  const flaw =
    findVariantProblem(entry.key) ?? (profiles.has(profileKey(agent, entry.key)) ? DUPLICATE_VARIANT : undefined)
  if (flaw !== undefined) return log.error(subject, flaw)
  const members = readMembers(entry, subject.key, log)
  const fields = readProfileFields(members, subject.key, log)
  const own = members.find(({ key }) => key === SELECTION)
  const place = { file, line: log.lineOf({ offset: (own ?? entry).offset, key: subject.key }) }
  const shared = own === undefined ? entry.shared : undefined
  profiles.set(profileKey(agent, entry.key), { agent, variant: entry.key, ...fields, place, ...shared })
}

const DUPLICATE_VARIANT = 'this variant stands twice: capitals make no difference.'

/** What is wrong with the name of a variant, if anything is. */
export function findVariantProblem(variant: string): string | undefined {
  if (isReservedVariant(variant)) return 'names that begin with "__" are reserved.'
  if (foldVariant(variant) === SELECTION) return 'this is the name of a field, and not of a variant.'
  if (variant.trim() === '' || foldVariant(variant).length > MAX_VARIANT_LENGTH || UNPRINTABLE.test(variant))
    return `expected a name of 1 to ${MAX_VARIANT_LENGTH} printable characters.`
  return undefined
}

function readMembers(
  { node, offset }: Pick<LocatedEntry, 'node' | 'offset'>,
  key: string,
  log: IssueLog,
): readonly LocatedEntry[] {
  if (node.kind === 'map') return node.entries
  log.error({ offset, key }, 'expected an object, such as {}.')
  return []
}
