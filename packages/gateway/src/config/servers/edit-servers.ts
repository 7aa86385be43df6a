import { didYouMean, isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import { type LocatedNode, parseTree } from '../reading/located-tree.ts'
import { type AddServersResult, addServers, hasSameValue, type ParsedConfig } from './add-servers.ts'
import { type FieldChange, fieldAttempts, findStep, isServersKey, removeEntry } from './splice-servers.ts'
import { findServersKey, toPlainValue } from './written-servers.ts'

/** A change of one server of the config. */
export type ServerChange =
  | { readonly kind: 'add'; readonly id: string; readonly entry: JsonObject; readonly comment?: readonly string[] }
  | { readonly kind: 'remove'; readonly id: string }
  | { readonly kind: 'enable'; readonly id: string; readonly enabled: boolean }
  /** Sets these fields; `null` removes a field. `was`: the version of the entry that the person has seen. */
  | { readonly kind: 'change'; readonly id: string; readonly fields: JsonObject; readonly was?: string }

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
      : refuse(`it already has a server ${JSON.stringify(change.id)}`, 'Use another name, or remove that one first.')
  if (entry === undefined)
    return refuse(
      `it has no server ${JSON.stringify(change.id)}`,
      `\`sallyport servers\` lists all.${didYouMean(
        change.id,
        listEntries(config.tree.root).map(({ key }) => key),
      )}`,
    )
  if (change.kind === 'remove')
    return verify(removeEntry(config.text, change.id), withoutServer(config.tree.root, change.id))
  const fields = change.kind === 'change' ? change.fields : enabledFields(entry, change.enabled)
  let edited = config
  for (const [key, value] of Object.entries(fields)) {
    const result = setField(edited, { id: change.id, path: [key], value: value ?? null })
    if (!result.ok) return result
    edited = result
  }
  return { ok: true, ...edited }
}

const refuse = (why: string, hint: string): AddServersResult => ({ ok: false, why, hint })

/** An entry may say `disabled: true` instead: then that is what changes. */
function enabledFields(entry: LocatedNode, enabled: boolean): JsonObject {
  const names = entry.kind === 'map' ? entry.entries.map(({ key }) => key) : []
  if (names.includes('disabled')) return { disabled: !enabled, ...(names.includes('enabled') && { enabled }) }
  if (names.includes('enabled') || !enabled) return { enabled }
  return {}
}

function setField(config: ParsedConfig, change: FieldChange): AddServersResult {
  const expected = withField(config.tree.root, change)
  if (expected !== undefined && hasSameValue(config.tree.root, expected)) return { ok: true, ...config }
  const members = splitChange(config.tree.root, change)
  const edited = members && setMembers(config, members)
  if (edited?.ok) return edited
  return verify(fieldAttempts(config.text, change), expected)
}

/** A mapping is changed member by member, so that the comments in it stay; `undefined` if that is not possible. */
function splitChange(root: LocatedNode, { id, path, value }: FieldChange): readonly FieldChange[] | undefined {
  const before = findValue(findEntry(root, id), path)
  if (!isJsonObject(before) || !isJsonObject(value)) return undefined
  const [names, added] = [Object.keys(before), Object.entries(value)]
  if (names.length === 0 || added.length === 0 || added.some(([, one]) => one === null)) return undefined
  const toChange = (name: string, one: Json): FieldChange => ({ id, path: [...path, name], value: one })
  // First what is set: a mapping that loses all its members would be null.
  return [
    ...added.map(([name, one]) => toChange(name, one ?? null)),
    ...names.filter((name) => !Object.hasOwn(value, name)).map((name) => toChange(name, null)),
  ]
}

function setMembers(config: ParsedConfig, changes: readonly FieldChange[]): AddServersResult {
  let edited = config
  for (const change of changes) {
    const result = setField(edited, change)
    if (!result.ok) return result
    edited = result
  }
  return { ok: true, ...edited }
}

function findValue(entry: LocatedNode | undefined, path: readonly string[]): Json | undefined {
  let value: Json | undefined = entry && toPlainValue(entry)
  for (const [depth, step] of path.entries()) {
    if (!isJsonObject(value)) return undefined
    value = value[findStep(Object.keys(value), step, depth)]
  }
  return value
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

const findEntry = (root: LocatedNode, id: string): LocatedNode | undefined =>
  listEntries(root).find(({ key }) => key === id)?.node

function listEntries(root: LocatedNode) {
  const section = root.kind === 'map' ? root.entries.find(({ key }) => isServersKey(key))?.node : undefined
  return section?.kind === 'map' ? section.entries : []
}

/** The value that the file must have afterwards. */
function withoutServer(root: LocatedNode, id: string): JsonObject | undefined {
  return mapServers(root, (servers) => Object.fromEntries(Object.entries(servers).filter(([name]) => name !== id)))
}

function withField(root: LocatedNode, { id, path, value }: FieldChange): JsonObject | undefined {
  return mapServers(root, (servers) => {
    const changed = withMember(servers[id] ?? {}, { path, value, depth: 0 })
    return changed && { ...servers, [id]: changed }
  })
}

interface MemberStep extends Omit<FieldChange, 'id'> {
  readonly depth: number
}

function withMember(object: Json, { path: [step = '', ...rest], value, depth }: MemberStep): JsonObject | undefined {
  if (!isJsonObject(object)) return undefined
  const name = findStep(Object.keys(object), step, depth)
  if (rest.length > 0) {
    const inner = withMember(object[name] ?? {}, { path: rest, value, depth: depth + 1 })
    return inner && { ...object, [name]: inner }
  }
  const kept = Object.fromEntries(Object.entries(object).filter(([one]) => one !== name || value !== null))
  return value === null ? kept : { ...kept, [name]: value }
}

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
