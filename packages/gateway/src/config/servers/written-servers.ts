import { isDeepStrictEqual } from 'node:util'
import { isJsonObject, type Json, type JsonObject, toCamelCase } from '@sallyport/core'
import { describeIssue } from '../reading/config-issue.ts'
import { createIssueLog } from '../reading/issue-log.ts'
import { type LocatedNode, type LocatedTree, parseTree } from '../reading/located-tree.ts'
import type { ServerConfig } from '../settings.ts'

/** The servers of a config as they are written: references to variables are not expanded. */
export type WrittenServersResult =
  | { readonly ok: true; readonly servers: ReadonlyMap<string, JsonObject> }
  | { readonly ok: false; readonly why: string }

/** The key of the servers in a config, in its spelling; `undefined` if there is none. */
export const findServersKey = (config: JsonObject): string | undefined =>
  Object.keys(config).find((key) => toCamelCase(key) === 'mcpServers')

export function readWrittenServers(file: string, tree: LocatedTree): WrittenServersResult {
  const log = createIssueLog(file, tree.positionOf)
  for (const { offset, problem } of tree.problems) log.error({ offset, key: '' }, problem)
  const [issue] = log.errors
  if (issue !== undefined) return { ok: false, why: describeIssue(issue) }
  const sections = tree.root.kind === 'map' ? tree.root.entries : []
  const section = sections.find(({ key }) => toCamelCase(key) === 'mcpServers')?.node
  const entries = section?.kind === 'map' ? section.entries : []
  const servers = new Map(entries.map(({ key, node }) => [key, toPlainEntry(toPlainValue(node))]))
  return { ok: true, servers }
}

/** Parses YAML into a plain value; `undefined` if it is not valid YAML. */
export function parseYamlValue(text: string): { readonly value: Json } | undefined {
  const { root, problems } = parseTree(text)
  return problems.length > 0 ? undefined : { value: toPlainValue(root) }
}

export function toPlainValue(node: LocatedNode): Json {
  if (node.kind === 'scalar') return node.value
  if (node.kind === 'list') return node.items.map((item) => toPlainValue(item.node))
  return Object.fromEntries(node.entries.map((entry) => [entry.key, toPlainValue(entry.node)]))
}

/** `environment` is another name for `env`. */
function toPlainEntry(value: Json): JsonObject {
  if (!isJsonObject(value)) return {}
  const { environment, ...entry } = value
  return environment === undefined ? value : { ...entry, env: environment }
}

/** Whether both run in the same way. Their location in the file and their secrets for masking do not matter. */
export function isSameServer(a: ServerConfig, b: ServerConfig): boolean {
  return isDeepStrictEqual(toRuntimeConfig(a), toRuntimeConfig(b))
}

const toRuntimeConfig = (config: ServerConfig) => ({
  ...config,
  location: undefined,
  fromVariables: undefined,
  credentials: undefined,
})
