import { isJsonList, isJsonObject, type Json, type JsonObject, toCamelCase } from '@sallyport/core'
import { isMap, isScalar, type Pair, type ParsedNode, parseDocument, type YAMLMap } from 'yaml'
import { type LocatedNode, type LocatedTree, parseTree } from '../reading/located-tree.ts'
import { parseYaml } from '../reading/parse-yaml.ts'
import { findServersKey, toPlainValue } from './written-servers.ts'

/** The text of a config and its parsed tree, together, because parsing thousands of servers again takes a second. */
export interface ParsedConfig {
  readonly text: string
  readonly tree: LocatedTree
}

/** The config with the new servers, or why it was not changed. */
export type AddServersResult =
  | ({ readonly ok: true } & ParsedConfig)
  | { readonly ok: false; readonly why: string; readonly hint?: string }

const HEADER = `# The servers behind the gateway, and its settings. Every key is explained in docs/configuration.md.
#
# \${NAME} stands for a variable of the environment in which the gateway runs: keep secrets there.
# A saved change is in force within a second.

`
const STEP = '  '
const NOT_EDITABLE = 'its style does not allow adding to mcp_servers without changing other parts of the file'

/** Adds servers at the end of `mcp_servers`. All other bytes stay the same. */
export function addServers(config: ParsedConfig, servers: readonly NewServer[]): AddServersResult {
  if (servers.length === 0) return { ok: true, ...config }
  const { root, problems } = config.tree
  if (problems.length > 0) return { ok: false, why: 'it cannot be read' }
  const expected = mergeServers(toPlainValue(root), servers)
  if (expected === undefined) return { ok: false, why: 'it is not a mapping, or its mcp_servers is not a mapping' }
  for (const attempt of buildAttempts(config.text, servers)) {
    const tree = parseTree(attempt)
    if (tree.problems.length === 0 && hasSameValue(tree.root, expected)) return { ok: true, text: attempt, tree }
  }
  return { ok: false, why: NOT_EDITABLE }
}

/** The value that the file must have after the change. */
function mergeServers(value: Json, servers: readonly NewServer[]): JsonObject | undefined {
  const root = value ?? {}
  if (!isJsonObject(root)) return undefined
  const key = findServersKey(root) ?? 'mcp_servers'
  const section = root[key] ?? {}
  if (!isJsonObject(section)) return undefined
  const added = Object.fromEntries(servers.map(({ id, entry }) => [id, entry]))
  return { ...root, [key]: { ...section, ...added } }
}

/** Whether a node has exactly this value. The order of members does not matter. */
export function hasSameValue(node: LocatedNode, value: Json | undefined): boolean {
  if (node.kind === 'scalar') return node.value === value
  if (node.kind === 'list')
    return (
      isJsonList(value) &&
      node.items.length === value.length &&
      node.items.every((item, at) => hasSameValue(item.node, value[at]))
    )
  if (!isJsonObject(value) || node.entries.length !== Object.keys(value).length) return false
  return node.entries.every((entry) => Object.hasOwn(value, entry.key) && hasSameValue(entry.node, value[entry.key]))
}

/** Possible ways to write the change, the best style first. The caller parses each one to check that it is correct. */
function* buildAttempts(text: string, servers: readonly NewServer[]): Iterable<string> {
  const end = text.includes('\r\n') ? '\r\n' : '\n'
  const block = (indent: string, step: string): string =>
    servers.map((server) => linesText(formatServer(server, step), indent, end)).join(end)
  const root = parseYaml({ parse: parseDocument, text })?.contents
  const pair = isMap(root) ? findServersSection(root as YAMLMap.Parsed) : undefined
  const section = pair?.value
  if (isMap(root) && (root.flow || (isMap(section) && section.flow))) {
    if (!root.flow && isMap(section)) yield* replaceEmptyBraces(text, section as YAMLMap.Parsed, { block, end })
    yield* buildFlowAttempts(text, { root: root as YAMLMap.Parsed, section, servers })
  } else if (pair === undefined) yield appendSection(text, { block, end })
  else if (isMap(section)) yield* buildBlockAttempts(text, section as YAMLMap.Parsed, { block, end })
  else yield insertAt(text, lineStartAfter(text, pair.key.range[1]), { inserted: block(STEP, STEP), end })
}

/** Adds the section at the end, after a blank line. A new file gets a header. */
function appendSection(text: string, { block, end }: Block): string {
  const isNew = text.trim() === ''
  const gap = isNew || /(?:^|\n)\r?\n$/.test(text) ? '' : end
  const open = text === '' || text.endsWith('\n') ? '' : end
  return `${text}${open}${isNew ? HEADER.replaceAll('\n', end) : gap}mcp_servers:${end}${block(STEP, STEP)}`
}

/** Replaces `{}` with block style: a person who wrote it for "no servers" does not want them inside the braces. */
function* replaceEmptyBraces(text: string, { items, range }: YAMLMap.Parsed, { block, end }: Block): Iterable<string> {
  if (items.length > 0) return
  const opened = text.slice(0, range[0]).trimEnd() + text.slice(range[1])
  const key = text.slice(0, range[0]).trimEnd().length
  yield insertAt(opened, lineStartAfter(opened, key), { inserted: block(STEP, STEP), end })
}

const findServersSection = (root: YAMLMap.Parsed): Pair<ParsedNode, ParsedNode | null> | undefined =>
  root.items.find(({ key }) => isScalar(key) && toCamelCase(String(key.value)) === 'mcpServers')

const linesText = (lines: readonly string[], indent: string, end: string): string =>
  lines.map((line) => `${indent}${line}${end}`).join('')

interface Block {
  readonly block: (indent: string, step: string) => string
  readonly end: string
}

/** Inserts after the last server and the comments that are indented like it, with a blank line if the file uses them. */
function* buildBlockAttempts(text: string, section: YAMLMap.Parsed, { block, end }: Block): Iterable<string> {
  const last = section.items.at(-1)
  const [first] = section.items
  if (last === undefined || first === undefined) return
  const column = columnOf(text, first.key.range[0])
  const indent = ' '.repeat(column)
  const value = first.value
  const inner = isMap(value) && !value.flow ? columnOf(text, (value as YAMLMap.Parsed).range[0]) - column : 0
  const step = inner > 0 ? ' '.repeat(inner) : STEP
  const behind = lineStartAfter(text, (last.value ?? last.key).range[1])
  const at = skipComments(text, behind, column)
  const inserted = block(indent, step)
  const isSpaced =
    /\n[ \t]*\r?\n$/.test(text.slice(0, first.key.range[0]).replace(/[^\n]*$/, '')) || hasBlank(text, section)
  if (isSpaced) yield insertAt(text, at, { inserted: end + inserted, end })
  yield insertAt(text, at, { inserted, end })
  yield insertAt(text, behind, { inserted, end })
}

/** Whether the servers are separated by blank lines. */
function hasBlank(text: string, { items }: YAMLMap.Parsed): boolean {
  const [first, second] = items
  return (
    first !== undefined &&
    second !== undefined &&
    /\n[ \t]*\r?\n/.test(text.slice(first.key.range[0], second.key.range[0]))
  )
}

function skipComments(text: string, from: number, column: number): number {
  let at = from
  for (let lineStart = from; lineStart < text.length; ) {
    const next = nextLine(text, lineStart)
    const line = text.slice(lineStart, next)
    if (line.trim() !== '' && !new RegExp(`^ {${Math.max(1, column)},}#`).test(line)) break
    if (line.trim() !== '') at = next
    lineStart = next
  }
  return at
}

const columnOf = (text: string, offset: number): number => offset - (text.lastIndexOf('\n', offset - 1) + 1)

/** The start of the next line after an offset. The range of a block scalar already ends after its line break. */
function lineStartAfter(text: string, offset: number): number {
  return offset > 0 && text[offset - 1] === '\n' ? offset : nextLine(text, offset)
}

function nextLine(text: string, offset: number): number {
  const next = text.indexOf('\n', offset)
  return next < 0 ? text.length : next + 1
}

function insertAt(
  text: string,
  at: number,
  { inserted, end }: { readonly inserted: string; readonly end: string },
): string {
  const isOpen = at > 0 && text[at - 1] !== '\n'
  return `${text.slice(0, at)}${isOpen ? end : ''}${inserted}${text.slice(at)}`
}

interface Flow {
  readonly root: YAMLMap.Parsed
  readonly section: ParsedNode | null | undefined
  readonly servers: readonly NewServer[]
}

/** Inserts inside braces, as in JSON: each server on its own line, written as JSON. */
function* buildFlowAttempts(text: string, { root, section, servers }: Flow): Iterable<string> {
  const members = servers.map(({ id, entry }) => `${JSON.stringify(id)}: ${JSON.stringify(entry)}`)
  const isFresh = section === undefined
  if (!isFresh && !isMap(section)) return
  const map = (section ?? root) as YAMLMap.Parsed
  const indent = isFresh ? STEP : STEP + STEP
  const inner = members.map((member) => `\n${indent}${isFresh ? STEP : ''}${member}`).join(',')
  const added = isFresh ? `\n${indent}"mcp_servers": {${inner}\n${indent}}` : inner
  const last = map.items.at(-1)
  const behind = last === undefined ? map.range[0] + 1 : (last.value ?? last.key).range[1]
  const close = map.range[1] - 1
  const rest = text.slice(behind, close)
  const comma = last === undefined || rest.includes(',') ? '' : ','
  const at = rest.includes(',') ? behind + rest.indexOf(',') + 1 : behind
  yield `${text.slice(0, at)}${comma}${added}${text.slice(at)}`
  yield `${text.slice(0, at)}${comma}${added}\n${text.slice(at)}`
}

export interface NewServer {
  readonly id: string
  readonly entry: JsonObject
  /** Comment lines before the entry. */
  readonly comment: readonly string[]
}

const MAX_WIDTH = 100

/** Unquoted values that YAML 1.1 and 1.2 both read as strings, in block style and in flow style. */
const PLAIN_TEXT = /^(?:[A-Za-z_./~]|\$(?=\{))(?:[\w./@~+=${}-]|:(?=[\w/]))*$/
const PLAIN_IN_FLOW = /^[A-Za-z_./][\w./@~+=-]*$/
const AMBIGUOUS_SCALAR = /^(?:y|n|yes|no|on|off|true|false|null|~|\.|\.\.|\.(?:inf|nan)|[-+.\d][\d.,_eExXoO:+-]*)$/i

/** Formats a server as a person would write it: one key per line, short lists on one line. */
export function formatServer({ id, entry, comment }: NewServer, step: string): readonly string[] {
  const lines = Object.entries(entry).flatMap(([key, value]) => formatField(key, value, step))
  return [...comment.map((line) => `# ${line}`), `${formatScalar(id)}:`, ...lines.map((line) => step + line)]
}

export function formatField(key: string, value: Json | undefined, step: string): readonly string[] {
  const name = formatScalar(key)
  if (Array.isArray(value)) {
    const line = `${name}: ${formatFlowList(value)}`
    if (line.length <= MAX_WIDTH) return [line]
    return [`${name}:`, ...value.map((item) => `${step}- ${formatItem(item)}`)]
  }
  if (!isJsonObject(value)) return [`${name}: ${formatItem(value)}`]
  const members = Object.entries(value)
  if (members.length === 0) return [`${name}: {}`]
  return [`${name}:`, ...members.flatMap(([one, inner]) => formatField(one, inner, step).map((line) => step + line))]
}

const formatFlowList = (items: readonly Json[]): string =>
  `[${items.map((item) => (typeof item === 'string' && !isPlain(item, PLAIN_IN_FLOW) ? quoteScalar(item) : formatItem(item))).join(', ')}]`

export const formatItem = (value: Json | undefined): string =>
  typeof value === 'string' ? formatScalar(value) : JSON.stringify(value ?? null)

const formatScalar = (text: string): string => (isPlain(text, PLAIN_TEXT) ? text : quoteScalar(text))

const isPlain = (text: string, pattern: RegExp): boolean =>
  pattern.test(text) && !AMBIGUOUS_SCALAR.test(text) && !text.endsWith(':')

/** Double quotes and printable ASCII only: every YAML version and JSON read it the same way. */
function quoteScalar(text: string): string {
  return JSON.stringify(text).replaceAll(/[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
