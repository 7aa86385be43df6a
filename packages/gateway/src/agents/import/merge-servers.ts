import { BUILT_IN_SERVER, expandVars, isJsonList, type Json, slugServerId } from '@sallyport/core'
import { isOwnGateway, type NewServer } from '../../config/config.ts'
import {
  type ConfigEntry,
  type FoundServer,
  hasReference,
  readCommandWords,
  readStrings,
  type ServerOrigin,
  urlOf,
} from './found-server.ts'
import { findSecretParts, type StringLocation } from './secret-parts.ts'
import {
  areCompatible,
  identifyServer,
  mapStrings,
  type ServerIdentity,
  type VariableLookup,
} from './server-identity.ts'

/** A server that will be added to config.yaml. */
export interface AddedServer {
  readonly id: string
  readonly entry: ConfigEntry
  /** All origins of the server; its name comes from the first. */
  readonly sources: readonly ServerOrigin[]
  /** The id that it would have if another server did not use it. */
  readonly renamedFrom?: string
  readonly secrets: readonly HiddenSecret[]
  /** All secrets that were found in it, hidden or not: they must be masked in any output. */
  readonly masked: readonly string[]
  /** Variables that it refers to but that are not set: it is disabled until they are. */
  readonly unset: readonly string[]
  readonly notes: readonly string[]
}

export interface PresentServer extends ServerOrigin {
  /** Its name in config.yaml. */
  readonly id: string
}

export interface SkippedServer extends ServerOrigin {
  readonly why: string
}

export interface ImportPlan {
  readonly added: readonly AddedServer[]
  readonly present: readonly PresentServer[]
  readonly skipped: readonly SkippedServer[]
}

export interface ImportRequest {
  readonly found: readonly FoundServer[]
  /** The entries that are already in config.yaml, as written there. */
  readonly existing: ReadonlyMap<string, ConfigEntry>
  /** The port of this gateway, so that it is not imported as a server. */
  readonly port: number
  readonly lookup: VariableLookup
  readonly secrets: 'hide' | 'keep'
  /** Whether servers from files in the working folder are imported. Anybody may have written such a file. */
  readonly projects: 'take' | 'leave'
}

/** Merges the servers of all agents: one entry for each server, whatever names the agents use. */
export function mergeServers(request: ImportRequest): ImportPlan {
  const present: PresentServer[] = []
  const skipped: SkippedServer[] = []
  const groups: Groups = { groups: [], byKey: new Map() }
  const { lookup } = request
  const known = indexKnownServers(request)
  for (const { server, ...source } of request.found) {
    const why = server.ok ? findSkipReason(server.config, source, request) : server.why
    if (why !== undefined || !server.ok) {
      skipped.push({ ...source, why: why ?? '' })
      continue
    }
    const serverIdentity = identifyServer(server.config)
    const candidate = { source, entry: server.config, identity: serverIdentity, notes: server.notes }
    const same = known.get(serverIdentity.key)?.find((one) => isSameServer(one, candidate, lookup))
    if (same) present.push({ ...source, id: same.id })
    else addToGroups(groups, candidate, lookup)
  }
  return { added: buildAddedServers(groups.groups, request), present, skipped }
}

/** The servers in config.yaml, by their identity key. */
function indexKnownServers({
  existing,
}: ImportRequest): ReadonlyMap<string, readonly (KnownServer & { readonly id: string })[]> {
  const known = new Map<string, (KnownServer & { readonly id: string })[]>()
  for (const [id, entry] of existing) {
    const identity = identifyServer(entry)
    const sameKey = known.get(identity.key) ?? []
    known.set(identity.key, sameKey)
    sameKey.push({ id, members: [entry], identity })
  }
  return known
}

function findSkipReason(
  entry: ConfigEntry,
  { scope }: ServerOrigin,
  { port, projects }: ImportRequest,
): string | undefined {
  if (isOwnGateway(entry, port)) return 'it is this gateway.'
  if (entry.enabled === false) return 'it is disabled there.'
  if (scope !== 'project' || projects === 'take') return undefined
  return 'it came with this folder, and anybody may have written it. Check it, then import it with --project.'
}

interface KnownServer {
  /** All entries that were found for it; they have the same key. */
  readonly members: readonly ConfigEntry[]
  readonly identity: ServerIdentity
}

interface Candidate {
  readonly source: ServerOrigin
  readonly entry: ConfigEntry
  readonly identity: ServerIdentity
  readonly notes: readonly string[]
}

function isSameServer(
  { members, identity }: KnownServer,
  { entry, identity: its }: Candidate,
  lookup: VariableLookup,
): boolean {
  const versions = new Set([identity.version ?? its.version, its.version ?? identity.version])
  return versions.size === 1 && members.every((member) => areCompatible(member, entry, lookup))
}

interface Group extends KnownServer {
  /** The merged entry. */
  readonly entry: ConfigEntry
  readonly sources: readonly ServerOrigin[]
  readonly notes: readonly string[]
}

interface Groups {
  /** In the order in which they were found. */
  readonly groups: Group[]
  /** Indexes into `groups` by command or URL, so that each of thousands of servers is compared with few others. */
  readonly byKey: Map<string, readonly number[]>
}

function addToGroups({ groups, byKey }: Groups, candidate: Candidate, lookup: VariableLookup): void {
  const { source, entry, identity } = candidate
  const sameKey = byKey.get(identity.key) ?? []
  const at = sameKey.find((index) => isSameServer(groups[index] as Group, candidate, lookup))
  const same = at === undefined ? undefined : groups[at]
  if (at === undefined || same === undefined) {
    const notes = candidate.notes.map((note) => `${source.agent}: ${note}`)
    byKey.set(identity.key, [...sameKey, groups.length])
    groups.push({ entry, members: [entry], identity, sources: [source], notes })
    return
  }
  // A pinned version takes precedence.
  const isPinned = same.identity.version === undefined && identity.version !== undefined
  const [first, second] = isPinned ? [entry, same.entry] : [same.entry, entry]
  groups[at] = {
    entry: mergeEntries(first, second),
    members: [...same.members, entry],
    identity: isPinned ? identity : same.identity,
    sources: [...same.sources, source],
    notes: [...same.notes, ...noteDifferences(first, second, isPinned ? same.sources[0] : source)],
  }
}

/**
 * The first entry, plus the variables and headers that only the second has. A reference takes precedence over a value.
 */
function mergeEntries(first: ConfigEntry, second: ConfigEntry): ConfigEntry {
  const env = mergeStrings(readStrings(first, 'env'), readStrings(second, 'env'), (name) => name)
  const headers = mergeStrings(readStrings(first, 'headers'), readStrings(second, 'headers'), (name) =>
    name.toLowerCase(),
  )
  return {
    ...first,
    ...(env.size > 0 && { env: toStringMap(env) }),
    ...(headers.size > 0 && { headers: toStringMap(headers) }),
    ...mergeIsolation(first, second),
  }
}

/** If one of the entries isolates a tool, the merged server does too. */
function mergeIsolation(first: ConfigEntry, second: ConfigEntry): ConfigEntry {
  const listed = [first, second].flatMap(({ isolatedTools }) => (isJsonList(isolatedTools) ? isolatedTools : []))
  return {
    ...((first.isolated === true || second.isolated === true) && { isolated: true }),
    ...(listed.length > 0 && { isolatedTools: [...new Set(listed)] }),
  }
}

type StringMap = Readonly<Record<string, string>>

const toStringMap = (texts: ReadonlyMap<string, string>): StringMap => Object.fromEntries(texts)

function mergeStrings(one: StringMap, other: StringMap, fold: (name: string) => string): ReadonlyMap<string, string> {
  const all = new Map(Object.entries(one))
  for (const [name, text] of Object.entries(other)) {
    const known = [...all.keys()].find((key) => fold(key) === fold(name))
    if (known === undefined || hasReference(text)) all.set(known ?? name, text)
  }
  return all
}

const MERGED_KEYS = new Set(['command', 'args', 'env', 'headers', 'url', 'isolated', 'isolatedTools'])

function noteDifferences(first: ConfigEntry, second: ConfigEntry, source: ServerOrigin | undefined): readonly string[] {
  const differing = Object.keys(second).filter(
    (key) => !MERGED_KEYS.has(key) && JSON.stringify(first[key]) !== JSON.stringify(second[key]),
  )
  return differing.length === 0 ? [] : [`${source?.agent}: its own ${differing.join(', ')} was left out.`]
}

function buildAddedServers(groups: readonly Group[], request: ImportRequest): readonly AddedServer[] {
  const names = new ServerNames(request.existing.keys())
  const used = new Set(
    [...request.existing.values()].flatMap((entry) => [...findUnsetVariables(entry, () => undefined)]),
  )
  const variables = new VariableNames(request.lookup, used)
  return groups.map(({ entry, sources, notes }) => {
    const [source] = sources as readonly [ServerOrigin]
    const id = names.claim(source, entry)
    const preferred = new ServerNames([]).claim(source, entry)
    const found = hideSecrets(entry, id, variables)
    const masked = found.secrets.map(({ value }) => value)
    const hidden = request.secrets === 'keep' ? { entry, secrets: [] } : found
    const unset = [...findUnsetVariables(hidden.entry, request.lookup)]
    return { id, ...hidden, masked, sources, ...(preferred !== id && { renamedFrom: preferred }), unset, notes }
  })
}

/** The variables without which an entry cannot be used. */
function findUnsetVariables(entry: ConfigEntry, lookup: VariableLookup): ReadonlySet<string> {
  const unset = new Set<string>()
  mapStrings(entry, ({ text }) => {
    const expansion = expandVars(text, lookup)
    if (!expansion.ok)
      for (const { kind, variable } of expansion.issues) if (kind === 'unset' && variable) unset.add(variable)
    return text
  })
  return unset
}

const MAX_LENGTH = 40

/** Chooses unique ids for imported servers. */
class ServerNames {
  readonly #taken: Set<string>

  constructor(taken: Iterable<string>) {
    this.#taken = new Set([...taken, BUILT_IN_SERVER])
  }

  /** The slug of its name; if that is in use, with the agent as a suffix. */
  claim(source: ServerOrigin, entry: ConfigEntry): string {
    for (const candidate of candidateIds(slugServerId(source.name) || deriveName(entry), source)) {
      if (this.#taken.has(candidate)) continue
      this.#taken.add(candidate)
      return candidate
    }
    throw new Error('There are more numbers than servers.')
  }
}

function* candidateIds(base: string, { agent, scope }: ServerOrigin): Iterable<string> {
  yield base
  yield withSuffix(base, agent)
  yield withSuffix(base, `${agent}-${scope}`)
  for (let number = 2; ; number++) yield withSuffix(base, `${agent}-${number}`)
}

const withSuffix = (base: string, end: string): string =>
  `${base.slice(0, MAX_LENGTH - end.length - 1).replace(/-+$/, '')}-${end}`

/** For names without any usable character: the host, or the last word that looks like a program or a package. */
function deriveName(entry: ConfigEntry): string {
  const url = urlOf(entry)
  if (url !== undefined) return slugServerId(/^\w+:\/\/([^/:?]+)/.exec(url)?.[1] ?? '') || 'server'
  const word = readCommandWords(entry).findLast((one) => /^[@\w./-]+$/.test(one) && !one.startsWith('-'))
  return (
    slugServerId(
      word
        ?.split('/')
        .at(-1)
        ?.replace(/\.\w+$/, '') ?? '',
    ) || 'server'
  )
}

/** A secret that was found, and the variable that replaces it. */
interface HiddenSecret {
  readonly variable: string
  /** Where it was: `env.TOKEN`. */
  readonly at: string
  /** Must never be shown. */
  readonly value: string
}

interface HiddenEntry {
  readonly entry: ConfigEntry
  readonly secrets: readonly HiddenSecret[]
}

/** Chooses names of variables. Each variable has one value for all servers. */
class VariableNames {
  readonly #values = new Map<string, string>()
  readonly #lookup: (name: string) => string | undefined
  readonly #used: ReadonlySet<string>

  /** `used`: variables that other entries refer to. Their values may or may not be set in the environment. */
  constructor(lookup: (name: string) => string | undefined, used: ReadonlySet<string>) {
    this.#lookup = lookup
    this.#used = used
  }

  /** The first of the names that has this value or no value yet. */
  claim(names: readonly string[], value: string): string {
    for (const name of withNumbers(names)) {
      if (!this.#isFree(name, value)) continue
      this.#values.set(name, value)
      return name
    }
    throw new Error('There are more numbers than variables.')
  }

  #isFree(name: string, value: string): boolean {
    const known = this.#values.get(name) ?? this.#lookup(name)
    return known === undefined ? !this.#used.has(name) : known === value
  }
}

function* withNumbers(names: readonly string[]): Iterable<string> {
  yield* names
  for (let number = 2; ; number++) yield `${names.at(-1)}_${number}`
}

/** Replaces each secret in an entry by a variable. */
function hideSecrets(entry: ConfigEntry, id: string, names: VariableNames): HiddenEntry {
  const secrets: HiddenSecret[] = []
  const hidden = mapStrings(entry, ({ text, location, at }) => {
    let changed = text
    for (const { start, end, name } of findSecretParts(text, location).toReversed()) {
      const value = text.slice(start, end)
      const variable = names.claim(listCandidateNames({ id, name, kind: location.kind }), value)
      secrets.push({ variable, at, value })
      changed = `${changed.slice(0, start)}\${${variable}}${changed.slice(end)}`
    }
    // `$${` would be an escape and not a reference.
    return changed !== text && !hasReference(changed) ? text : changed
  })
  return { entry: hidden, secrets }
}

interface NamedSecret {
  readonly id: string
  readonly name: string
  readonly kind: StringLocation['kind']
}

/** A variable of the program keeps its own name if possible; other secrets are named after the server. */
function listCandidateNames({ id, name, kind }: NamedSecret): readonly string[] {
  const server = id.toUpperCase().replaceAll('-', '_')
  const own =
    name
      .replaceAll(/\W+/g, '_')
      .replaceAll(/^_+|_+$/g, '')
      .toUpperCase() || 'SECRET'
  const isNamed = own.startsWith(`${server}_`) || own === server
  const full = isNamed ? own : `${server}_${own}`
  const plain = /^[0-9]/.test(full) ? `S${full}` : full
  return kind === 'env' && /^[A-Za-z_]\w*$/.test(name) ? [name, plain] : [plain]
}

/** A server with an unset variable is disabled: an unset variable would make the whole config invalid. */
export function toNewServer({ id, entry, sources, unset }: AddedServer): NewServer {
  const from = `from ${[...new Set(sources.map(({ agent }) => agent))].join(', ')}`
  const waits = `switched off until ${unset.join(' and ')} ${unset.length === 1 ? 'is' : 'are'} set`
  const off: Readonly<Record<string, Json>> = unset.length === 0 ? {} : { enabled: false }
  return { id, entry: { ...entry, ...off }, comment: [unset.length === 0 ? from : `${from}; ${waits}`] }
}
