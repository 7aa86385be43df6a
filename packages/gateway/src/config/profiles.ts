import { JsonScanner } from '@sallyport/core'
import { joinKey, quote } from './config-issue.ts'
import { createIssueLog, type IssueLog } from './issue-log.ts'
import { type LocatedEntry, type LocatedNode, parseTree } from './located-tree.ts'
import { profileKey } from './may-approve.ts'
import type { ProfileSettings, Profiles } from './settings.ts'

export interface ReadProfiles {
  /** Only to be used when there is no error. */
  readonly profiles: Profiles
  readonly errors: IssueLog['errors']
}

/** Agents are slugs, written in this file in capitals: CLAUDE_CODE is claude-code. */
const AGENT = /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/

/** What profiles.json says of agents and their variants. It does not throw. */
export function readProfiles(file: string, bytes: Buffer): ReadProfiles {
  const tree = parseTree(bytes.toString('utf8'))
  const log = createIssueLog(file, tree.positionOf)
  const flaw = jsonFlaw(bytes)
  if (flaw !== undefined) log.error({ offset: flaw, key: '' }, 'here it stops being JSON.')
  else for (const { offset, problem } of tree.problems) log.error({ offset, key: '' }, problem)
  const profiles = new Map<string, ProfileSettings>()
  if (log.errors.length === 0) for (const found of variantsIn(tree.root, log)) take(found, { profiles, log })
  return { profiles, errors: log.errors }
}

/** Where the text stops being JSON, if it does. YAML, with which places are found, takes more than that. */
function jsonFlaw(bytes: Buffer): number | undefined {
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

interface Variant {
  readonly agent: string
  readonly entry: LocatedEntry
  readonly key: string
}

function variantsIn(root: LocatedNode, log: IssueLog): readonly Variant[] {
  const executors = membersOf({ node: root, offset: 0 }, '', log).find(({ key }) => key === 'executors')
  if (executors === undefined) return []
  return membersOf(executors, 'executors', log).flatMap((agent) => {
    const key = joinKey('executors', agent.key)
    if (!AGENT.test(agent.key)) {
      log.error(
        { offset: agent.offset, key },
        `expected an agent in capitals, such as "CLAUDE_CODE"; got ${quote(agent.key)}.`,
      )
      return []
    }
    const slug = agent.key.toLowerCase().replaceAll('_', '-')
    return membersOf(agent, key, log).map((entry) => ({ agent: slug, entry, key: joinKey(key, entry.key) }))
  })
}

interface Taking {
  readonly profiles: Map<string, ProfileSettings>
  readonly log: IssueLog
}

function take({ agent, entry, key }: Variant, { profiles, log }: Taking): void {
  const name = profileKey(agent, entry.key)
  if (profiles.has(name))
    log.error({ offset: entry.offset, key }, 'this variant stands twice: capitals make no difference.')
  const field = membersOf(entry, key, log).find((member) => member.key === 'client_approval')
  const value = field?.node.kind === 'scalar' ? field.node.value : undefined
  if (field && typeof value !== 'boolean')
    log.error({ offset: field.offset, key: joinKey(key, field.key) }, 'expected true or false.')
  profiles.set(name, { clientApproval: value === true })
}

function membersOf(
  { node, offset }: Pick<LocatedEntry, 'node' | 'offset'>,
  key: string,
  log: IssueLog,
): readonly LocatedEntry[] {
  if (node.kind === 'map') return node.entries
  log.error({ offset, key }, 'expected an object, such as {}.')
  return []
}
