import { camelCase, isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import { describeIssue } from './config-issue.ts'
import { createIssueLog } from './issue-log.ts'
import { type LocatedNode, type LocatedTree, parseTree } from './located-tree.ts'

/** The servers of a config as they are written, with references instead of what variables hold. */
export type WrittenServers =
  | { readonly ok: true; readonly servers: ReadonlyMap<string, JsonObject> }
  | { readonly ok: false; readonly why: string }

export function writtenServers(file: string, tree: LocatedTree): WrittenServers {
  const log = createIssueLog(file, tree.positionOf)
  for (const { offset, problem } of tree.problems) log.error({ offset, key: '' }, problem)
  const [issue] = log.errors
  if (issue !== undefined) return { ok: false, why: describeIssue(issue) }
  const sections = tree.root.kind === 'map' ? tree.root.entries : []
  const section = sections.find(({ key }) => camelCase(key) === 'mcpServers')?.node
  const entries = section?.kind === 'map' ? section.entries : []
  const servers = new Map(entries.map(({ key, node }) => [key, plainEntry(plainValue(node))]))
  return { ok: true, servers }
}

/** All that a text says; nothing where it is no YAML. */
export function valueIn(text: string): { readonly value: Json } | undefined {
  const { root, problems } = parseTree(text)
  return problems.length > 0 ? undefined : { value: plainValue(root) }
}

export function plainValue(node: LocatedNode): Json {
  if (node.kind === 'scalar') return node.value
  if (node.kind === 'list') return node.items.map((item) => plainValue(item.node))
  return Object.fromEntries(node.entries.map((entry) => [entry.key, plainValue(entry.node)]))
}

/** `environment` is another word for `env`. */
function plainEntry(value: Json): JsonObject {
  if (!isJsonObject(value)) return {}
  const { environment, ...entry } = value
  return environment === undefined ? value : { ...entry, env: environment }
}
