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

/** In this file, agents are written in capitals: CLAUDE_CODE is claude-code. */
const AGENT = /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/
/** Characters that could fake a line in a log or on a screen. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u
const MAX_VARIANT_LENGTH = 256
const SELECTION = 'selected_mcp_tools'

/** Reads the agents and variants of profiles.json. It does not throw. */
export function readProfiles(file: string, bytes: Buffer): ProfilesResult {
  const tree = parseTree(bytes.toString('utf8'))
  const log = createIssueLog(file, tree.positionOf)
  const jsonError = findJsonError(bytes)
  if (jsonError !== undefined) log.error({ offset: jsonError, key: '' }, 'the file is not valid JSON from here on.')
  else for (const { offset, problem } of tree.problems) log.error({ offset, key: '' }, problem)
  const profiles = new Map<string, ProfileSettings>()
  if (log.errors.length === 0) for (const agent of listAgents(tree.root, log)) readAgent(agent, { file, profiles, log })
  return { profiles, errors: log.errors }
}

/** The offset where the text is no longer valid JSON, if any. The YAML parser, which finds locations, accepts more than JSON. */
function findJsonError(bytes: Buffer): number | undefined {
  const scanner = new JsonScanner()
  scanner.feed(bytes)
  if (scanner.end()) return undefined
  const byteScanner = new JsonScanner()
  for (let at = 0; at < bytes.length; at++) {
    byteScanner.feed(bytes.subarray(at, at + 1))
    if (byteScanner.failure !== undefined) return bytes.toString('utf8', 0, at).length
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

/** The selection of an agent. It applies to every variant without one of its own. */
type SharedSelection = Pick<ProfileSettings, 'selectedMcpTools' | 'inheritsSelection' | 'location'>

function readAgent(entry: LocatedEntry, context: ReadContext): void {
  const { file, profiles, log } = context
  const agent = agentSlug(entry.key)
  const key = joinKey('executors', entry.key)
  const members = readMembers(entry, key, log)
  const selection = members.find((member) => member.key === SELECTION)
  const shared = selection && readSharedSelection({ ...selection, path: key }, context)
  for (const variant of members)
    if (variant !== selection) readVariant(agent, { ...variant, path: key, shared }, context)
  const implied = profileKey(agent, DEFAULT_VARIANT)
  if (profiles.has(implied)) return
  const location = { file, line: log.lineOf({ offset: entry.offset, key }) }
  profiles.set(implied, { agent, variant: DEFAULT_VARIANT.toUpperCase(), location, ...shared })
}

function readSharedSelection(
  entry: LocatedEntry & { readonly path: string },
  { file, log }: ReadContext,
): SharedSelection {
  const location = { file, line: log.lineOf({ offset: entry.offset, key: joinKey(entry.path, entry.key) }) }
  return { ...readProfileFields([entry], entry.path, log), inheritsSelection: true, location }
}

interface VariantEntry extends LocatedEntry {
  readonly path: string
  readonly shared: SharedSelection | undefined
}

function readVariant(agent: string, entry: VariantEntry, context: ReadContext): void {
  const { file, profiles, log } = context
  const subject = { offset: entry.offset, key: joinKey(entry.path, entry.key) }
  const problem =
    findVariantProblem(entry.key) ?? (profiles.has(profileKey(agent, entry.key)) ? DUPLICATE_VARIANT : undefined)
  if (problem !== undefined) return log.error(subject, problem)
  const members = readMembers(entry, subject.key, log)
  const fields = readProfileFields(members, subject.key, log)
  const own = members.find(({ key }) => key === SELECTION)
  const location = { file, line: log.lineOf({ offset: (own ?? entry).offset, key: subject.key }) }
  const shared = own === undefined ? entry.shared : undefined
  profiles.set(profileKey(agent, entry.key), { agent, variant: entry.key, ...fields, location, ...shared })
}

const DUPLICATE_VARIANT = 'this variant is defined twice: upper and lower case make no difference.'

/** Why a name cannot be used for a variant; `undefined` if it can. */
export function findVariantProblem(variant: string): string | undefined {
  if (isReservedVariant(variant)) return 'names that begin with "__" are reserved.'
  if (foldVariant(variant) === SELECTION) return 'this is the name of a field, so it cannot be the name of a variant.'
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
