import { isJsonObject, type Json, type JsonObject, toCamelCase } from '@sallyport/core'
import { isMap, isScalar, type Pair, type ParsedNode, parseDocument, type YAMLMap } from 'yaml'
import { type LocatedNode, parseTree } from '../reading/located-tree.ts'
import { parseYaml } from '../reading/parse-yaml.ts'
import { type AddServersResult, addServers, formatField, hasSameValue, type ParsedConfig } from './add-servers.ts'
import { findServersKey, toPlainValue } from './written-servers.ts'

/** A change of one server of the config. */
export type ServerChange =
  | { readonly kind: 'add'; readonly id: string; readonly entry: JsonObject; readonly comment?: readonly string[] }
  | { readonly kind: 'remove'; readonly id: string }
  | { readonly kind: 'enable'; readonly id: string; readonly enabled: boolean }
  /** Sets these fields; `null` removes a field. */
  | { readonly kind: 'change'; readonly id: string; readonly fields: JsonObject }

/** Makes the changes one after the other. Everything that they are not about stays as it is, byte by byte. */
export function editServers(config: ParsedConfig, changes: readonly ServerChange[]): AddServersResult {
  let edited = config
  for (const change of changes) {
    const result = editServer(edited, change)
    if (!result.ok) return result
    edited = result
  }
  return { ok: true, ...edited }
}

function editServer(config: ParsedConfig, change: ServerChange): AddServersResult {
  if (config.tree.problems.length > 0) return { ok: false, why: 'it cannot be read' }
  const entry = findEntry(config.tree.root, change.id)
  if (change.kind === 'add')
    return entry === undefined
      ? addServers(config, [{ id: change.id, entry: change.entry, comment: change.comment ?? [] }])
      : { ok: false, why: `it already has a server ${JSON.stringify(change.id)}` }
  if (entry === undefined) return { ok: false, why: `it has no server ${JSON.stringify(change.id)}` }
  if (change.kind === 'remove')
    return verify(removeEntry(config.text, change.id), withoutServer(config.tree.root, change.id))
  const fields = change.kind === 'change' ? change.fields : enabledFields(entry, change.enabled)
  let edited = config
  for (const [key, value] of Object.entries(fields)) {
    const result = setField(edited, { id: change.id, key, value: value ?? null })
    if (!result.ok) return result
    edited = result
  }
  return { ok: true, ...edited }
}

/** An entry may say `disabled: true` instead: then that is what changes. */
function enabledFields(entry: LocatedNode, enabled: boolean): JsonObject {
  const names = entry.kind === 'map' ? entry.entries.map(({ key }) => key) : []
  if (names.includes('disabled')) return { disabled: !enabled, ...(names.includes('enabled') && { enabled }) }
  if (names.includes('enabled') || !enabled) return { enabled }
  return {}
}

interface FieldChange {
  readonly id: string
  readonly key: string
  /** `null` removes the field. */
  readonly value: Json
}

function setField(config: ParsedConfig, change: FieldChange): AddServersResult {
  const expected = withField(config.tree.root, change)
  if (expected !== undefined && hasSameValue(config.tree.root, expected)) return { ok: true, ...config }
  return verify(fieldAttempts(config.text, change), expected)
}

/** The first of the attempts that has the expected value. */
function verify(attempts: Iterable<string>, expected: JsonObject | undefined): AddServersResult {
  if (expected !== undefined)
    for (const text of attempts) {
      const tree = parseTree(text)
      if (tree.problems.length === 0 && hasSameValue(tree.root, expected)) return { ok: true, text, tree }
    }
  return { ok: false, why: 'its style does not allow this change without changing other parts of the file' }
}

function findEntry(root: LocatedNode, id: string): LocatedNode | undefined {
  const section = root.kind === 'map' ? root.entries.find(({ key }) => isServersKey(key))?.node : undefined
  return section?.kind === 'map' ? section.entries.find(({ key }) => key === id)?.node : undefined
}

const isServersKey = (key: string): boolean => toCamelCase(key) === 'mcpServers'

/** The value that the file must have afterwards. */
function withoutServer(root: LocatedNode, id: string): JsonObject | undefined {
  return mapServers(root, (servers) => Object.fromEntries(Object.entries(servers).filter(([name]) => name !== id)))
}

function withField(root: LocatedNode, { id, key, value }: FieldChange): JsonObject | undefined {
  return mapServers(root, (servers) => {
    const entry = servers[id] ?? {}
    if (!isJsonObject(entry)) return undefined
    const name = findFieldName(Object.keys(entry), key)
    const kept = Object.fromEntries(Object.entries(entry).filter(([one]) => one !== name || value !== null))
    return { ...servers, [id]: value === null ? kept : { ...kept, [name]: value } }
  })
}

/** A field keeps the spelling that the file has: `exclude_tools` and `excludeTools` are the same. */
const findFieldName = (names: readonly string[], key: string): string =>
  names.find((name) => toCamelCase(name) === toCamelCase(key)) ?? key

function mapServers(
  root: LocatedNode,
  change: (servers: JsonObject) => JsonObject | undefined,
): JsonObject | undefined {
  const value = toPlainValue(root)
  if (!isJsonObject(value)) return undefined
  const key = findServersKey(value)
  const servers = key === undefined ? undefined : value[key]
  const changed = isJsonObject(servers) ? change(servers) : undefined
  return key === undefined || changed === undefined ? undefined : { ...value, [key]: changed }
}

type YamlPair = Pair<ParsedNode, ParsedNode | null>

interface FoundEntry {
  readonly section: YamlPair
  readonly servers: YAMLMap.Parsed
  readonly pair: YamlPair
}

function findPair(text: string, id: string): FoundEntry | undefined {
  const root = parseYaml({ parse: parseDocument, text })?.contents
  if (!isMap(root)) return undefined
  const section = (root as YAMLMap.Parsed).items.find(({ key }) => isScalar(key) && isServersKey(String(key.value)))
  const servers = section?.value
  if (section === undefined || !isMap(servers)) return undefined
  const pair = findMember(servers as YAMLMap.Parsed, (name) => name === id)
  return pair && { section, servers: servers as YAMLMap.Parsed, pair }
}

const findMember = ({ items }: YAMLMap.Parsed, is: (name: string) => boolean): YamlPair | undefined =>
  items.find(({ key }) => isScalar(key) && is(String(key.value)))

/** The lines of a server, with the comments right above it that belong to it alone. */
function* removeEntry(text: string, id: string): Iterable<string> {
  const found = findPair(text, id)
  if (found === undefined) return
  const { section, servers, pair } = found
  if (servers.flow) {
    yield removeFromFlow(text, servers, pair)
    return
  }
  if (servers.items.length === 1) {
    // An empty section is written as such: without a value it would be null.
    const start = section.key.range[1]
    const end = pairEnd(text, pair)
    const colon = text.indexOf(':', start)
    yield `${text.slice(0, colon + 1)} {}${newlineOf(text)}${text.slice(end)}`
    return
  }
  const start = lineStart(text, pair.key.range[0])
  const end = pairEnd(text, pair)
  const above = commentStart(text, start)
  // The blank line that separated it from the next server goes with it.
  const isLast = servers.items.at(-1) === pair
  const blank = isLast ? 0 : (/^[ \t]*\r?\n/.exec(text.slice(end))?.[0].length ?? 0)
  const isSeparated =
    above === 0 || /\n[ \t]*\r?\n$/.test(text.slice(0, above)) || /:[^\n]*\n$/.test(text.slice(0, above))
  yield text.slice(0, above) + text.slice(end + (isSeparated ? blank : 0))
  yield text.slice(0, above) + text.slice(end)
  yield text.slice(0, start) + text.slice(end)
}

function* fieldAttempts(text: string, { id, key, value }: FieldChange): Iterable<string> {
  const found = findPair(text, id)
  const entry = found?.pair.value
  if (found === undefined || !isMap(entry)) return
  const map = entry as YAMLMap.Parsed
  const name = findFieldName(
    map.items.flatMap((item) => (isScalar(item.key) ? [String(item.key.value)] : [])),
    key,
  )
  const member = findMember(map, (one) => one === name)
  if (map.flow) yield* flowAttempts(text, map, { member, name, value })
  else yield* blockAttempts(text, map, { member, name, value })
}

interface MemberChange {
  readonly member: YamlPair | undefined
  readonly name: string
  readonly value: Json
}

function* blockAttempts(text: string, map: YAMLMap.Parsed, { member, name, value }: MemberChange): Iterable<string> {
  const [first] = map.items
  const last = map.items.at(-1)
  if (first === undefined || last === undefined) return
  const indent = ' '.repeat(columnOf(text, first.key.range[0]))
  const lines = value === null ? [] : formatField(name, value, '  ')
  const block = lines.map((line) => `${indent}${line}${newlineOf(text)}`).join('')
  if (member === undefined) {
    const at = pairEnd(text, last)
    const open = at > 0 && text[at - 1] !== '\n' ? newlineOf(text) : ''
    yield text.slice(0, at) + open + block + text.slice(at)
    return
  }
  const old = member.value
  // Only the value changes, so that a comment behind it stays.
  if (value !== null && old !== null && lines.length === 1 && isOnOneLine(text, old)) {
    const [line = ''] = lines
    yield text.slice(0, old.range[0]) + line.slice(line.indexOf(': ') + 2) + text.slice(old.range[1])
  }
  const start = lineStart(text, member.key.range[0])
  yield text.slice(0, start) + block + text.slice(pairEnd(text, member))
}

/** Inside braces, values are written as JSON, which YAML can read. */
function* flowAttempts(text: string, map: YAMLMap.Parsed, { member, name, value }: MemberChange): Iterable<string> {
  if (value === null) {
    if (member !== undefined) yield removeFromFlow(text, map, member)
    return
  }
  const printed = JSON.stringify(value)
  if (member !== undefined) {
    const old = member.value
    if (old !== null) yield text.slice(0, old.range[0]) + printed + text.slice(old.range[1])
    return
  }
  const last = map.items.at(-1)
  const at = last === undefined ? map.range[0] + 1 : (last.value ?? last.key).range[1]
  const comma = last === undefined ? '' : ', '
  // A file of JSON stays JSON.
  const isJson = last === undefined || text[last.key.range[0]] === '"'
  const key = isJson ? JSON.stringify(name) : name
  yield `${text.slice(0, at)}${comma}${key}: ${printed}${text.slice(at)}`
}

/** Removes a member and one comma. */
function removeFromFlow(text: string, { items, range }: YAMLMap.Parsed, pair: YamlPair): string {
  const at = items.indexOf(pair as YAMLMap.Parsed['items'][number])
  const [before, after] = [items[at - 1], items[at + 1]]
  if (after !== undefined) return text.slice(0, pair.key.range[0]) + text.slice(after.key.range[0])
  const start = before === undefined ? range[0] + 1 : (before.value ?? before.key).range[1]
  return text.slice(0, start) + text.slice((pair.value ?? pair.key).range[1])
}

const newlineOf = (text: string): string => (text.includes('\r\n') ? '\r\n' : '\n')

const lineStart = (text: string, offset: number): number => text.lastIndexOf('\n', offset - 1) + 1

const columnOf = (text: string, offset: number): number => offset - lineStart(text, offset)

const isOnOneLine = (text: string, { range }: ParsedNode): boolean => !text.slice(range[0], range[1]).includes('\n')

/** The start of the line after a pair. The range of a block value may already end after its line break. */
function pairEnd(text: string, { key, value }: YamlPair): number {
  const end = lastOffset(value ?? key)
  if (end > 0 && text[end - 1] === '\n') return end
  const next = text.indexOf('\n', end)
  return next < 0 ? text.length : next + 1
}

/** Where the last value inside a node ends. The range of a block map also has the comments after it. */
function lastOffset(node: ParsedNode): number {
  if (!isMap(node) || (node as YAMLMap.Parsed).flow) return node.range[1]
  const last = (node as YAMLMap.Parsed).items.at(-1)
  return last === undefined ? node.range[1] : lastOffset(last.value ?? last.key)
}

/** Where the comment lines right above a line begin; the line itself if there are none. */
function commentStart(text: string, start: number): number {
  const indent = /^[ \t]*/.exec(text.slice(start))?.[0] ?? ''
  let at = start
  for (;;) {
    const above = lineStart(text, at - 1)
    if (at === 0 || !text.slice(above, at).startsWith(`${indent}#`)) return at
    at = above
  }
}
