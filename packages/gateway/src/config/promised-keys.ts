import { toCamelCase } from '@sallyport/core'
import { joinKey } from './config-issue.ts'
import type { LocatedItem, LocatedNode } from './located-tree.ts'

/** Which of these keys a mapping has, as paths. `isolated: false` and a key without a value promise nothing. */
export function findRequestedKeys(node: LocatedNode, path: string, keys: readonly string[]): readonly string[] {
  if (node.kind !== 'map') return []
  return node.entries
    .filter((entry) => keys.includes(toCamelCase(entry.key)) && !isDeclined(entry.node, entry.key))
    .map((entry) => joinKey(path, entry.key))
}

/** Nothing is asked for: `isolated: false`, a key without a value; and `enabled: true` and `tools: ["*"]` restrict nothing. */
export function isDeclined(node: LocatedNode, key: string): boolean {
  if (node.kind === 'scalar') return node.value === null || node.value === (key === 'enabled')
  return node.kind === 'list' && /^(allow|enabled|include|tools)/.test(key) && node.items.some(isStar)
}

const isStar = ({ node }: LocatedItem): boolean => node.kind === 'scalar' && node.value === '*'
