import { expandVars, findClosest, toCamelCase, toSnakeCase } from '@sallyport/core'
import { joinKey, quote } from './config-issue.ts'
import type { IssueLog, KeyLocation } from './issue-log.ts'
import type { LocatedEntry, LocatedItem, LocatedNode } from './located-tree.ts'
import { anything, type Schema, type Shape } from './schema.ts'
import { coercedString } from './value-schemas.ts'

/** The location and the origin of a value of the normalised tree. */
export interface ConfigNode extends KeyLocation {
  /** `variable`: the value may be secret. `unresolved`: it still contains a reference that could not be expanded. */
  readonly origin: 'written' | 'variable' | 'unresolved'
  readonly children: ReadonlyMap<string | number, ConfigNode>
}

export interface Normalized {
  readonly value: unknown
  readonly node: ConfigNode
}

export interface NormalizeContext {
  readonly log: IssueLog
  readonly lookup: (name: string) => string | undefined
  /** Called for each unset variable. The caller decides whether that is an error. */
  readonly onUnset: (subject: KeyLocation, problem: string) => void
  /** Called for a misspelt key that was probably meant to isolate or restrict. Without it, such a key is an error. */
  readonly onMisspelt?: (problem: string) => void
  /** For files of other programs: converts a string to our own syntax for variables. */
  readonly spelling?: (text: string) => string
}

interface Located<Node extends LocatedNode = LocatedNode> extends KeyLocation {
  readonly node: Node
}

type LocatedMap = Located<Extract<LocatedNode, { kind: 'map' }>>
type LocatedList = Located<Extract<LocatedNode, { kind: 'list' }>>
type LocatedLeaf = Located<Extract<LocatedNode, { kind: 'scalar' }>>

type Member = readonly [step: string | number, normalised: Normalized]

/** Brings all keys into one spelling, expands variables and reports unknown keys. The schema validates the result. */
export function normalize(located: Located, schema: Schema, context: NormalizeContext): Normalized {
  const part = unwrap(schema)
  const { shape, member = anything } = part
  if (isLeaf(located)) return normalizeLeaf(located, part, context)
  if (isList(located)) return assemble(located, normalizeItems(located, member, context))
  if (!isMap(located)) throw new TypeError('A located node is a scalar, a list or a mapping.')
  if (shape !== undefined) return assemble(located, normalizeKeys(located, { ...part, shape }, context))
  return assemble(located, normalizeVerbatim(located, member, context))
}

const unwrap = (part: Schema): Schema => part.unwrap?.() ?? part

const isLeaf = (located: Located): located is LocatedLeaf => located.node.kind === 'scalar'
const isList = (located: Located): located is LocatedList => located.node.kind === 'list'
const isMap = (located: Located): located is LocatedMap => located.node.kind === 'map'

const locateChild = (parent: KeyLocation, name: string | number, item: LocatedItem): Located => ({
  offset: item.offset,
  key: joinKey(parent.key, name),
  node: item.node,
})

function assemble(located: Located, members: readonly Member[]): Normalized {
  const children = new Map(members.map(([name, { node }]) => [name, node]))
  const node: ConfigNode = { offset: located.offset, key: located.key, origin: 'written', children }
  if (located.node.kind === 'list') return { value: members.map(([, { value }]) => value), node }
  return { value: Object.fromEntries(members.map(([name, { value }]) => [name, value])), node }
}

function normalizeItems(parent: LocatedList, part: Schema, context: NormalizeContext): readonly Member[] {
  return parent.node.items.map((item, index) => [index, normalize(locateChild(parent, index, item), part, context)])
}

type Shaped = Schema & { readonly shape: Shape }

function normalizeKeys(parent: LocatedMap, part: Shaped, context: NormalizeContext): readonly Member[] {
  const { shape } = part
  const members: Member[] = []
  const seen = new Map<string, LocatedEntry>()
  for (const entry of parent.node.entries) {
    const key = toCamelCase(entry.key)
    const located = locateChild(parent, entry.key, entry)
    const member = Object.hasOwn(shape, key) ? shape[key] : undefined
    const earlier = seen.get(key)
    seen.set(key, entry)
    if (member === undefined) reportUnknown(located, entry.key, { parent, part, context })
    else if (earlier !== undefined) reportDuplicate(located, earlier, context.log)
    else if (isRead(member, entry.node)) members.push([key, normalize(located, member, context)])
  }
  return members
}

/** False for a key without a value, and for a key that is not read: it may contain anything. */
function isRead(part: Schema, node: LocatedNode): boolean {
  return unwrap(part) !== anything && !(node.kind === 'scalar' && node.value === null)
}

interface UnknownKey {
  readonly parent: KeyLocation
  readonly part: Shaped
  readonly context: NormalizeContext
}

function reportUnknown(located: Located, key: string, { parent, part, context }: UnknownKey): void {
  const { log, onMisspelt } = context
  // As in Compose files: `x-` keys are for anchors and for other programs.
  if (parent.key === '' && /^x[-_]/.test(key)) return
  const { best, suggestion } = suggestKey(key, part)
  const restricts = isRestricting(part, best, located.node)
  if (part.strict || (restricts && !onMisspelt)) log.error(located, `this key is not known.${suggestion}`)
  else if (restricts) {
    log.warn(located, `this key is not known.${suggestion} The server is not started until it is corrected.`)
    onMisspelt?.(`the key ${quote(key)} of its entry is not known.${suggestion}`)
  } else log.warn(located, `this key is not known and is ignored.${suggestion}`)
}

function suggestKey(key: string, { shape, otherWords = {} }: Shaped) {
  const best = findClosest(key, [...Object.keys(shape), ...Object.keys(otherWords)])
  if (best === undefined) return { best, suggestion: '' }
  const spelled = /[A-Z]/.test(key) ? best : toSnakeCase(best)
  const advice = Object.hasOwn(shape, best) ? undefined : otherWords[best]
  return { best, suggestion: ` ${advice ?? `Did you mean "${spelled}"?`}` }
}

function isRestricting(
  { restricting = [], otherWords = {} }: Shaped,
  key: string | undefined,
  node: LocatedNode,
): boolean {
  return key !== undefined && (restricting.includes(key) || Object.hasOwn(otherWords, key)) && !isDeclined(node, key)
}

function reportDuplicate(subject: KeyLocation, earlier: LocatedEntry, log: IssueLog): void {
  const line = log.lineOf({ offset: earlier.offset, key: '' })
  log.error(subject, `this key is already in line ${line}, spelled ${quote(earlier.key)}. Keep one of them.`)
}

/** Names of variables and headers belong to other programs, so their spelling is not changed. */
function normalizeVerbatim(parent: LocatedMap, part: Schema, context: NormalizeContext): readonly Member[] {
  const members: Member[] = []
  for (const entry of parent.node.entries) {
    const located = locateChild(parent, entry.key, entry)
    if (entry.key === '__proto__') context.log.error(located, 'this name cannot be used.')
    else members.push([entry.key, normalize(located, part, context)])
  }
  return members
}

function normalizeLeaf(located: LocatedLeaf, part: Schema, context: NormalizeContext): Normalized {
  const { value, source } = located.node
  const base = { offset: located.offset, key: located.key, children: NO_CHILDREN }
  // Where a string is needed, `1.10` means the string "1.10" and not the number 1.1.
  if (part === coercedString && value !== null && typeof value !== 'string')
    return { value: source, node: { ...base, origin: 'written' } }
  if (typeof value !== 'string') return { value, node: { ...base, origin: 'written' } }
  const lookup = (name: string): string | undefined =>
    part.templateVariables?.includes(name) ? `\${${name}}` : context.lookup(name)
  const expansion = expandVars(context.spelling?.(value) ?? value, lookup)
  if (expansion.ok)
    return { value: expansion.value, node: { ...base, origin: expansion.used ? 'variable' : 'written' } }
  for (const issue of expansion.issues) {
    if (issue.kind === 'unset') context.onUnset(located, `${issue.message}.`)
    else context.log.error(located, `${issue.message}.`)
  }
  return { value, node: { ...base, origin: 'unresolved' } }
}

const NO_CHILDREN: ReadonlyMap<string | number, ConfigNode> = new Map()

/** Which of these keys a mapping uses, as key paths. `isolated: false` and a key without a value do not count. */
export function findRequestedKeys(node: LocatedNode, path: string, keys: readonly string[]): readonly string[] {
  if (node.kind !== 'map') return []
  return node.entries
    .filter((entry) => keys.includes(toCamelCase(entry.key)) && !isDeclined(entry.node, entry.key))
    .map((entry) => joinKey(path, entry.key))
}

/** Whether the key asks for nothing (`isolated: false`, no value) or restricts nothing (`enabled: true`, `tools: ["*"]`). */
function isDeclined(node: LocatedNode, key: string): boolean {
  if (node.kind === 'scalar') return node.value === null || node.value === (key === 'enabled')
  return node.kind === 'list' && /^(allow|enabled|include|tools)/.test(key) && node.items.some(isStar)
}

const isStar = ({ node }: LocatedItem): boolean => node.kind === 'scalar' && node.value === '*'
