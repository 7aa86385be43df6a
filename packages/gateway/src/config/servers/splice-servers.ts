import { type Json, toCamelCase } from '@sallyport/core'
import { isMap, isScalar, isSeq, type Pair, type ParsedNode, parseDocument, type YAMLMap, type YAMLSeq } from 'yaml'
import { parseYaml } from '../reading/parse-yaml.ts'
import { formatField, formatItem } from './add-servers.ts'

export const isServersKey = (key: string): boolean => toCamelCase(key) === 'mcpServers'

/** A field keeps the spelling that the file has: `exclude_tools` and `excludeTools` are the same. Names inside are not. */
export const findStep = (names: readonly string[], step: string, depth: number): string =>
  (depth === 0 && names.find((name) => toCamelCase(name) === toCamelCase(step))) || step

export interface FieldChange {
  readonly id: string
  /** The name of a field, or of a member inside it. */
  readonly path: readonly string[]
  /** `null` removes it. */
  readonly value: Json
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
export function* removeEntry(text: string, id: string): Iterable<string> {
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

/** Possible ways to write the change of a field, the best style first. The caller checks the value of each. */
export function* fieldAttempts(text: string, { id, path, value }: FieldChange): Iterable<string> {
  let holder = findPair(text, id)?.pair.value
  for (const [depth, step] of path.slice(0, -1).entries()) {
    if (!isMap(holder)) return
    holder = findStepIn(holder as YAMLMap.Parsed, step, depth).member?.value
  }
  if (!isMap(holder)) return
  const map = holder as YAMLMap.Parsed
  const { name, member } = findStepIn(map, path.at(-1) ?? '', path.length - 1)
  if (map.flow) yield* flowAttempts(text, map, { member, name, value })
  else yield* blockAttempts(text, map, { member, name, value })
}

function findStepIn(map: YAMLMap.Parsed, step: string, depth: number) {
  const names = map.items.flatMap((item) => (isScalar(item.key) ? [String(item.key.value)] : []))
  const name = findStep(names, step, depth)
  return { name, member: findMember(map, (one) => one === name) }
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
  if (isSeq(old) && Array.isArray(value)) yield* itemAttempts(text, old as YAMLSeq.Parsed, value)
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
    if (isSeq(old) && Array.isArray(value)) yield* itemAttempts(text, old as YAMLSeq.Parsed, value)
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

/** Changes only the items that differ, so that the comments between the others stay. */
function* itemAttempts(text: string, { items, flow }: YAMLSeq.Parsed, value: readonly Json[]): Iterable<string> {
  const before = items.map((item) => (isScalar(item) ? (item.value as Json) : undefined))
  if (before.length === 0 || value.length === 0 || before.includes(undefined)) return
  const print = (item: Json): string => (flow ? JSON.stringify(item) : formatItem(item))
  if (before.length === value.length) {
    let edited = text
    for (const [index, item] of [...items.entries()].reverse())
      if (before[index] !== value[index])
        edited = edited.slice(0, item.range[0]) + print(value[index] ?? null) + edited.slice(item.range[1])
    yield edited
  }
  if (flow) return
  const first = countWhile(Math.min(before.length, value.length), (index) => before[index] === value[index])
  const last = countWhile(
    Math.min(before.length, value.length) - first,
    (index) => before[before.length - 1 - index] === value[value.length - 1 - index],
  )
  const startOf = (index: number): number => {
    const item = items[index]
    return item === undefined ? lineAfter(text, items.at(-1)?.range[1] ?? 0) : lineStart(text, item.range[0])
  }
  const indent = /^[ \t]*/.exec(text.slice(startOf(0)))?.[0] ?? ''
  const lines = value.slice(first, value.length - last).map((item) => `${indent}- ${print(item)}${newlineOf(text)}`)
  const [start, end] = [startOf(first), startOf(before.length - last)]
  const open = start > 0 && text[start - 1] !== '\n' ? newlineOf(text) : ''
  yield text.slice(0, start) + open + lines.join('') + text.slice(end)
}

function countWhile(max: number, is: (index: number) => boolean): number {
  let count = 0
  while (count < max && is(count)) count++
  return count
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
  return lineAfter(text, lastOffset(value ?? key))
}

function lineAfter(text: string, end: number): number {
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
