import { expandVars, isJsonList } from '@sallyport/core'
import { isOwnGateway } from '../../config/config.ts'
import { mapStrings } from './entry-texts.ts'
import { type ConfigEntry, type FoundServer, hasReference, readStrings, type ServerOrigin } from './found-server.ts'
import { type HiddenSecret, hideSecrets, VariableNames } from './hide-secrets.ts'
import { areCompatible, identifyServer, type ServerIdentity, type VariableLookup } from './likeness.ts'
import { ServerNames } from './server-names.ts'

/** A server that is to be added to config.yaml. */
export interface AddedServer {
  readonly id: string
  readonly entry: ConfigEntry
  /** Every place where it was found; the first gave it its name. */
  readonly sources: readonly ServerOrigin[]
  /** The id that it would have, were that not taken by another server. */
  readonly renamedFrom?: string
  readonly secrets: readonly HiddenSecret[]
  /** The secrets that were found in it, hidden or not: whoever shows something of it masks them. */
  readonly masked: readonly string[]
  /** Variables that it refers to and that are not set: it is switched off until they are. */
  readonly unset: readonly string[]
  readonly notes: readonly string[]
}

export interface PresentServer extends ServerOrigin {
  /** What it is called in config.yaml. */
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
  /** What config.yaml has already, as it is written there. */
  readonly existing: ReadonlyMap<string, ConfigEntry>
  /** Where this gateway listens, so that it is not taken for a server. */
  readonly port: number
  readonly lookup: VariableLookup
  readonly secrets: 'hide' | 'keep'
  /** Whether servers count that stand in the folder in which people work. Whoever wrote that file may be anybody. */
  readonly projects: 'take' | 'leave'
}

/** What becomes of the servers of all agents: one entry for each server, whatever they call it. */
export function mergeServers(wish: ImportRequest): ImportPlan {
  const present: PresentServer[] = []
  const skipped: SkippedServer[] = []
  const groups: Groups = { groups: [], byKey: new Map() }
  const { lookup } = wish
  const known = indexKnownServers(wish)
  for (const { server, ...source } of wish.found) {
    const why = server.ok ? findSkipReason(server.config, source, wish) : server.why
    if (why !== undefined || !server.ok) {
      skipped.push({ ...source, why: why ?? '' })
      continue
    }
    const likeness = identifyServer(server.config)
    const candidate = { source, entry: server.config, identity: likeness, notes: server.notes }
    const same = known.get(likeness.key)?.find((one) => isSameServer(one, candidate, lookup))
    if (same) present.push({ ...source, id: same.id })
    else addToGroups(groups, candidate, lookup)
  }
  return { added: buildAddedServers(groups.groups, wish), present, skipped }
}

/** Those of config.yaml, by what makes them alike. */
function indexKnownServers({
  existing,
}: ImportRequest): ReadonlyMap<string, readonly (KnownServer & { readonly id: string })[]> {
  const known = new Map<string, (KnownServer & { readonly id: string })[]>()
  for (const [id, entry] of existing) {
    const identity = identifyServer(entry)
    const near = known.get(identity.key) ?? []
    known.set(identity.key, near)
    near.push({ id, members: [entry], identity })
  }
  return known
}

function findSkipReason(
  entry: ConfigEntry,
  { scope }: ServerOrigin,
  { port, projects }: ImportRequest,
): string | undefined {
  if (isOwnGateway(entry, port)) return 'it is this gateway.'
  if (entry.enabled === false) return 'it is switched off there.'
  if (scope !== 'project' || projects === 'take') return undefined
  return 'it came with this folder, and may be anybody’s. Look at it, then take it with --project.'
}

interface KnownServer {
  /** Every entry that was found for it; all have one key. */
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
  /** What they come to. */
  readonly entry: ConfigEntry
  readonly sources: readonly ServerOrigin[]
  readonly notes: readonly string[]
}

interface Groups {
  /** In the order in which they were found. */
  readonly groups: Group[]
  /** Where in the list those of one command or URL are: thousands of servers are compared with few. */
  readonly byKey: Map<string, readonly number[]>
}

function addToGroups({ groups, byKey }: Groups, candidate: Candidate, lookup: VariableLookup): void {
  const { source, entry, identity } = candidate
  const near = byKey.get(identity.key) ?? []
  const at = near.find((place) => isSameServer(groups[place] as Group, candidate, lookup))
  const same = at === undefined ? undefined : groups[at]
  if (at === undefined || same === undefined) {
    const notes = candidate.notes.map((note) => `${source.agent}: ${note}`)
    byKey.set(identity.key, [...near, groups.length])
    groups.push({ entry, members: [entry], identity, sources: [source], notes })
    return
  }
  // A version that somebody pinned is kept.
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

/** The first, with the variables and headers that only the second has; a reference counts more than a value. */
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

/** What one of them keeps out of a context, the server of both does. */
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
  return differing.length === 0 ? [] : [`${source?.agent}: its own ${differing.join(', ')} was left.`]
}

function buildAddedServers(groups: readonly Group[], wish: ImportRequest): readonly AddedServer[] {
  const names = new ServerNames(wish.existing.keys())
  const used = new Set([...wish.existing.values()].flatMap((entry) => [...findUnsetVariables(entry, () => undefined)]))
  const variables = new VariableNames(wish.lookup, used)
  return groups.map(({ entry, sources, notes }) => {
    const [source] = sources as readonly [ServerOrigin]
    const id = names.claim(source, entry)
    const usual = new ServerNames([]).claim(source, entry)
    const found = hideSecrets(entry, id, variables)
    const masked = found.secrets.map(({ value }) => value)
    const hidden = wish.secrets === 'keep' ? { entry, secrets: [] } : found
    const unset = [...findUnsetVariables(hidden.entry, wish.lookup)]
    return { id, ...hidden, masked, sources, ...(usual !== id && { renamedFrom: usual }), unset, notes }
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
