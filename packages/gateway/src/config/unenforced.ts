import { type ConfigIssue, joinKey } from './config-issue.ts'
import { camelCase, PROTECTING_SECTIONS, PROTECTING_SERVER_KEYS } from './config-schema.ts'
import type { LocatedEntry, LocatedNode } from './located-tree.ts'

/** The keys that promise a protection which no part of this version gives, as they are written. */
export function unenforcedKeys(root: LocatedNode): readonly string[] {
  const sections = promises(root, PROTECTING_SECTIONS).map(({ key }) => joinKey('', key))
  const servers = entriesOf(root).filter(({ key }) => camelCase(key) === 'mcpServers')
  return [...sections, ...servers.flatMap(promisesOfServers)]
}

function promisesOfServers({ key: section, node }: LocatedEntry): readonly string[] {
  return entriesOf(node).flatMap((server) =>
    promises(server.node, PROTECTING_SERVER_KEYS).map(({ key }) => joinKey(joinKey(section, server.key), key)),
  )
}

const entriesOf = (node: LocatedNode): readonly LocatedEntry[] => (node.kind === 'map' ? node.entries : [])

const promises = (node: LocatedNode, keys: readonly string[]): readonly LocatedEntry[] =>
  entriesOf(node).filter((entry) => keys.includes(camelCase(entry.key)) && !isDeclined(entry.node))

/** `isolated: false` and a key without a value promise nothing. */
const isDeclined = (node: LocatedNode): boolean => node.kind === 'scalar' && (node.value === null || node.value === false)

