import { camelCase, closest, expandVars, snakeCase } from '@sallyport/core'
import { joinKey, quote } from './config-issue.ts'
import type { IssueLog, Subject } from './issue-log.ts'
import type { LocatedEntry, LocatedItem, LocatedNode } from './located-tree.ts'
import { isDeclined } from './promised-keys.ts'
import { anything, type Part, type Shape } from './schema.ts'
import { plainText } from './schema-parts.ts'

/** Where a value of the normalised tree came from. */
export interface Spot extends Subject {
  /** `variable`: it may be secret. `unresolved`: it still holds a reference that could not be expanded. */
  readonly origin: 'written' | 'variable' | 'unresolved'
  readonly children: ReadonlyMap<string | number, Spot>
}

export interface Normalised {
  readonly value: unknown
  readonly spot: Spot
}

export interface NormaliseContext {
  readonly log: IssueLog
  readonly lookup: (name: string) => string | undefined
  /** Told of each variable that is not set; whether that is an error depends on who needs it. */
  readonly onUnset: (subject: Subject, problem: string) => void
  /** Told of a key that was probably meant to isolate or restrict; without it, such a key is an error. */
  readonly onMisspelt?: (problem: string) => void
  /** A text as our own files would write it, where another program's file is read. */
  readonly spelling?: (text: string) => string
}

interface Located<Node extends LocatedNode = LocatedNode> extends Subject {
  readonly node: Node
}

type LocatedMap = Located<Extract<LocatedNode, { kind: 'map' }>>
type LocatedList = Located<Extract<LocatedNode, { kind: 'list' }>>
type LocatedLeaf = Located<Extract<LocatedNode, { kind: 'scalar' }>>

type Member = readonly [step: string | number, normalised: Normalised]

/** One spelling for every key, variables expanded, unknown keys reported: a plain tree that the schema can judge. */
export function normalise(located: Located, schema: Part, context: NormaliseContext): Normalised {
  const part = unwrap(schema)
  const { shape, member = anything } = part
  if (isLeaf(located)) return normaliseLeaf(located, part, context)
  if (isList(located)) return assemble(located, normaliseItems(located, member, context))
  if (!isMap(located)) throw new TypeError('A located node is a scalar, a list or a mapping.')
  if (shape !== undefined) return assemble(located, normaliseKeys(located, { ...part, shape }, context))
  return assemble(located, normaliseVerbatim(located, member, context))
}

const unwrap = (part: Part): Part => part.unwrap?.() ?? part

const isLeaf = (located: Located): located is LocatedLeaf => located.node.kind === 'scalar'
const isList = (located: Located): located is LocatedList => located.node.kind === 'list'
const isMap = (located: Located): located is LocatedMap => located.node.kind === 'map'

const step = (parent: Subject, name: string | number, item: LocatedItem): Located => ({
  offset: item.offset,
  key: joinKey(parent.key, name),
  node: item.node,
})

function assemble(located: Located, members: readonly Member[]): Normalised {
  const children = new Map(members.map(([name, { spot }]) => [name, spot]))
  const spot: Spot = { offset: located.offset, key: located.key, origin: 'written', children }
  if (located.node.kind === 'list') return { value: members.map(([, { value }]) => value), spot }
  return { value: Object.fromEntries(members.map(([name, { value }]) => [name, value])), spot }
}

function normaliseItems(parent: LocatedList, part: Part, context: NormaliseContext): readonly Member[] {
  return parent.node.items.map((item, index) => [index, normalise(step(parent, index, item), part, context)])
}

type Shaped = Part & { readonly shape: Shape }

function normaliseKeys(parent: LocatedMap, part: Shaped, context: NormaliseContext): readonly Member[] {
  const { shape } = part
  const members: Member[] = []
  const seen = new Map<string, LocatedEntry>()
  for (const entry of parent.node.entries) {
    const key = camelCase(entry.key)
    const located = step(parent, entry.key, entry)
    const member = Object.hasOwn(shape, key) ? shape[key] : undefined
    const earlier = seen.get(key)
    seen.set(key, entry)
    if (member === undefined) reportUnknown(located, entry.key, { parent, part, context })
    else if (earlier !== undefined) reportTwin(located, earlier, context.log)
    else if (isRead(member, entry.node)) members.push([key, normalise(located, member, context)])
  }
  return members
}

/** A key without a value says nothing; a key that nobody reads may hold anything. */
function isRead(part: Part, node: LocatedNode): boolean {
  return unwrap(part) !== anything && !(node.kind === 'scalar' && node.value === null)
}

interface UnknownKey {
  readonly parent: Subject
  readonly part: Shaped
  readonly context: NormaliseContext
}

function reportUnknown(located: Located, key: string, { parent, part, context }: UnknownKey): void {
  const { log, onMisspelt } = context
  // As in Compose files: a place for anchors, and for notes of other programs.
  if (parent.key === '' && /^x[-_]/.test(key)) return
  const { best, suggestion } = meantKey(key, part)
  const restricts = isRestricting(part, best, located.node)
  if (part.strict || (restricts && !onMisspelt)) log.error(located, `this key is not known.${suggestion}`)
  else if (restricts) {
    log.warn(located, `this key is not known.${suggestion} The server is not started until it is corrected.`)
    onMisspelt?.(`the key ${quote(key)} of its entry is not known.${suggestion}`)
  } else log.warn(located, `this key is not known and is ignored.${suggestion}`)
}

function meantKey(key: string, { shape, otherWords = {} }: Shaped) {
  const best = closest(key, [...Object.keys(shape), ...Object.keys(otherWords)])
  if (best === undefined) return { best, suggestion: '' }
  const spelled = /[A-Z]/.test(key) ? best : snakeCase(best)
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

function reportTwin(subject: Subject, earlier: LocatedEntry, log: IssueLog): void {
  const line = log.lineOf({ offset: earlier.offset, key: '' })
  log.error(subject, `the same key stands in line ${line} as ${quote(earlier.key)}. Keep one of them.`)
}

/** Names of variables and headers are other people's: no spelling is changed. */
function normaliseVerbatim(parent: LocatedMap, part: Part, context: NormaliseContext): readonly Member[] {
  const members: Member[] = []
  for (const entry of parent.node.entries) {
    const located = step(parent, entry.key, entry)
    if (entry.key === '__proto__') context.log.error(located, 'this name cannot be used.')
    else members.push([entry.key, normalise(located, part, context)])
  }
  return members
}

function normaliseLeaf(located: LocatedLeaf, part: Part, context: NormaliseContext): Normalised {
  const { value, source } = located.node
  const spot = { offset: located.offset, key: located.key, children: NO_CHILDREN }
  // `1.10` is meant as it is written where a text is needed, not as the number 1.1.
  if (part === plainText && value !== null && typeof value !== 'string')
    return { value: source, spot: { ...spot, origin: 'written' } }
  if (typeof value !== 'string') return { value, spot: { ...spot, origin: 'written' } }
  const lookup = (name: string): string | undefined =>
    part.templateVariables?.includes(name) ? `\${${name}}` : context.lookup(name)
  const expansion = expandVars(context.spelling?.(value) ?? value, lookup)
  if (expansion.ok)
    return { value: expansion.value, spot: { ...spot, origin: expansion.used ? 'variable' : 'written' } }
  for (const issue of expansion.issues) {
    if (issue.kind === 'unset') context.onUnset(located, `${issue.message}.`)
    else context.log.error(located, `${issue.message}.`)
  }
  return { value, spot: { ...spot, origin: 'unresolved' } }
}

const NO_CHILDREN: ReadonlyMap<string | number, Spot> = new Map()
