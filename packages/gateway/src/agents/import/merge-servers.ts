import { expandVars, isJsonList } from '@sallyport/core'
import { isOwnGateway } from '../../config/config.ts'
import { mapTexts } from './entry-texts.ts'
import { type Entry, type FoundServer, hasReference, type ServerSource, textsOf } from './found-server.ts'
import { type HiddenSecret, hideSecrets, VariableNames } from './hide-secrets.ts'
import { agree, type Likeness, type Lookup, likenessOf } from './likeness.ts'
import { ServerNames } from './server-names.ts'

/** A server that is to be added to config.yaml. */
export interface AddedServer {
  readonly id: string
  readonly entry: Entry
  /** Every place where it was found; the first gave it its name. */
  readonly sources: readonly ServerSource[]
  /** The id that it would have, were that not taken by another server. */
  readonly renamedFrom?: string
  readonly secrets: readonly HiddenSecret[]
  /** The secrets that were found in it, hidden or not: whoever shows something of it masks them. */
  readonly masked: readonly string[]
  /** Variables that it refers to and that are not set: it is switched off until they are. */
  readonly unset: readonly string[]
  readonly notes: readonly string[]
}

export interface PresentServer extends ServerSource {
  /** What it is called in config.yaml. */
  readonly id: string
}

export interface SkippedServer extends ServerSource {
  readonly why: string
}

export interface ImportPlan {
  readonly added: readonly AddedServer[]
  readonly present: readonly PresentServer[]
  readonly skipped: readonly SkippedServer[]
}

export interface ImportWish {
  readonly found: readonly FoundServer[]
  /** What config.yaml has already, as it is written there. */
  readonly existing: ReadonlyMap<string, Entry>
  /** Where this gateway listens, so that it is not taken for a server. */
  readonly port: number
  readonly lookup: Lookup
  readonly secrets: 'hide' | 'keep'
  /** Whether servers count that stand in the folder in which people work. Whoever wrote that file may be anybody. */
  readonly projects: 'take' | 'leave'
}

/** What becomes of the servers of all agents: one entry for each server, whatever they call it. */
export function mergeServers(wish: ImportWish): ImportPlan {
  const present: PresentServer[] = []
  const skipped: SkippedServer[] = []
  const groups: Groups = { list: [], alike: new Map() }
  const { lookup } = wish
  const known = knownServers(wish)
  for (const { server, ...source } of wish.found) {
    const why = server.ok ? whyNot(server.config, source, wish) : server.why
    if (why !== undefined || !server.ok) {
      skipped.push({ ...source, why: why ?? '' })
      continue
    }
    const likeness = likenessOf(server.config)
    const candidate = { source, entry: server.config, likeness, notes: server.notes }
    const same = known.get(likeness.key)?.find((one) => isSame(one, candidate, lookup))
    if (same) present.push({ ...source, id: same.id })
    else take(groups, candidate, lookup)
  }
  return { added: finish(groups.list, wish), present, skipped }
}

/** Those of config.yaml, by what makes them alike. */
function knownServers({ existing }: ImportWish): ReadonlyMap<string, readonly (Known & { readonly id: string })[]> {
  const known = new Map<string, (Known & { readonly id: string })[]>()
  for (const [id, entry] of existing) {
    const likeness = likenessOf(entry)
    const near = known.get(likeness.key) ?? []
    known.set(likeness.key, near)
    near.push({ id, members: [entry], likeness })
  }
  return known
}

function whyNot(entry: Entry, { scope }: ServerSource, { port, projects }: ImportWish): string | undefined {
  if (isOwnGateway(entry, port)) return 'it is this gateway.'
  if (entry.enabled === false) return 'it is switched off there.'
  if (scope !== 'project' || projects === 'take') return undefined
  return 'it came with this folder, and may be anybody’s. Look at it, then take it with --project.'
}

interface Known {
  /** Every entry that was found for it; all have one key. */
  readonly members: readonly Entry[]
  readonly likeness: Likeness
}

interface Candidate {
  readonly source: ServerSource
  readonly entry: Entry
  readonly likeness: Likeness
  readonly notes: readonly string[]
}

function isSame({ members, likeness }: Known, { entry, likeness: its }: Candidate, lookup: Lookup): boolean {
  const versions = new Set([likeness.version ?? its.version, its.version ?? likeness.version])
  return versions.size === 1 && members.every((member) => agree(member, entry, lookup))
}

interface Group extends Known {
  /** What they come to. */
  readonly entry: Entry
  readonly sources: readonly ServerSource[]
  readonly notes: readonly string[]
}

interface Groups {
  /** In the order in which they were found. */
  readonly list: Group[]
  /** Where in the list those of one command or URL are: thousands of servers are compared with few. */
  readonly alike: Map<string, readonly number[]>
}

function take({ list, alike }: Groups, candidate: Candidate, lookup: Lookup): void {
  const { source, entry, likeness } = candidate
  const near = alike.get(likeness.key) ?? []
  const at = near.find((place) => isSame(list[place] as Group, candidate, lookup))
  const same = at === undefined ? undefined : list[at]
  if (at === undefined || same === undefined) {
    const notes = candidate.notes.map((note) => `${source.agent}: ${note}`)
    alike.set(likeness.key, [...near, list.length])
    list.push({ entry, members: [entry], likeness, sources: [source], notes })
    return
  }
  // A version that somebody pinned is kept.
  const isPinned = same.likeness.version === undefined && likeness.version !== undefined
  const [first, second] = isPinned ? [entry, same.entry] : [same.entry, entry]
  list[at] = {
    entry: joined(first, second),
    members: [...same.members, entry],
    likeness: isPinned ? likeness : same.likeness,
    sources: [...same.sources, source],
    notes: [...same.notes, ...leftNotes(first, second, isPinned ? same.sources[0] : source)],
  }
}

/** The first, with the variables and headers that only the second has; a reference counts more than a value. */
function joined(first: Entry, second: Entry): Entry {
  const env = joinedTexts(textsOf(first, 'env'), textsOf(second, 'env'), (name) => name)
  const headers = joinedTexts(textsOf(first, 'headers'), textsOf(second, 'headers'), (name) => name.toLowerCase())
  return {
    ...first,
    ...(env.size > 0 && { env: textMap(env) }),
    ...(headers.size > 0 && { headers: textMap(headers) }),
    ...joinedIsolation(first, second),
  }
}

/** What one of them keeps out of a context, the server of both does. */
function joinedIsolation(first: Entry, second: Entry): Entry {
  const listed = [first, second].flatMap(({ isolatedTools }) => (isJsonList(isolatedTools) ? isolatedTools : []))
  return {
    ...((first.isolated === true || second.isolated === true) && { isolated: true }),
    ...(listed.length > 0 && { isolatedTools: [...new Set(listed)] }),
  }
}

type Texts = Readonly<Record<string, string>>

const textMap = (texts: ReadonlyMap<string, string>): Texts => Object.fromEntries(texts)

function joinedTexts(one: Texts, other: Texts, fold: (name: string) => string): ReadonlyMap<string, string> {
  const all = new Map(Object.entries(one))
  for (const [name, text] of Object.entries(other)) {
    const known = [...all.keys()].find((key) => fold(key) === fold(name))
    if (known === undefined || hasReference(text)) all.set(known ?? name, text)
  }
  return all
}

const MERGED_KEYS = new Set(['command', 'args', 'env', 'headers', 'url', 'isolated', 'isolatedTools'])

function leftNotes(first: Entry, second: Entry, source: ServerSource | undefined): readonly string[] {
  const differing = Object.keys(second).filter(
    (key) => !MERGED_KEYS.has(key) && JSON.stringify(first[key]) !== JSON.stringify(second[key]),
  )
  return differing.length === 0 ? [] : [`${source?.agent}: its own ${differing.join(', ')} was left.`]
}

function finish(groups: readonly Group[], wish: ImportWish): readonly AddedServer[] {
  const names = new ServerNames(wish.existing.keys())
  const used = new Set([...wish.existing.values()].flatMap((entry) => [...unsetIn(entry, () => undefined)]))
  const variables = new VariableNames(wish.lookup, used)
  return groups.map(({ entry, sources, notes }) => {
    const [source] = sources as readonly [ServerSource]
    const id = names.claim(source, entry)
    const usual = new ServerNames([]).claim(source, entry)
    const found = hideSecrets(entry, id, variables)
    const masked = found.secrets.map(({ value }) => value)
    const hidden = wish.secrets === 'keep' ? { entry, secrets: [] } : found
    const unset = [...unsetIn(hidden.entry, wish.lookup)]
    return { id, ...hidden, masked, sources, ...(usual !== id && { renamedFrom: usual }), unset, notes }
  })
}

/** The variables without which an entry cannot be used. */
function unsetIn(entry: Entry, lookup: Lookup): ReadonlySet<string> {
  const unset = new Set<string>()
  mapTexts(entry, ({ text }) => {
    const expansion = expandVars(text, lookup)
    if (!expansion.ok)
      for (const { kind, variable } of expansion.issues) if (kind === 'unset' && variable) unset.add(variable)
    return text
  })
  return unset
}
