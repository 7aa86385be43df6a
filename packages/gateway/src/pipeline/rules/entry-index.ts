import {
  canonicalName,
  compileNameGlob,
  isNameGlob,
  type NameTable,
  type Neighbors,
  type ToolEntry,
  type ToolRef,
} from '@sallyport/core'
import type { CatalogSnapshot, Offer } from '../../catalog/catalog.ts'

/** Finds entries by the names of tools. Names are looked up, never taken apart. */
export class EntryIndex {
  readonly snapshot: CatalogSnapshot
  readonly #byKey = new Map<string, ToolEntry[]>()
  readonly #globs: { readonly matches: (name: string) => boolean; readonly entry: ToolEntry }[] = []
  readonly #neighbours = new Map<string, Neighbors>()
  /** Whether every key is a canonical name. */
  readonly #isCanonical: boolean
  #bareNames: ReadonlyMap<string, number> | undefined
  /** The wire names that tools would have without renames. */
  #defaultWireNames: ReadonlySet<string> | undefined

  constructor(entries: readonly ToolEntry[], snapshot: CatalogSnapshot) {
    this.snapshot = snapshot
    for (const entry of entries) {
      const same = this.#byKey.get(entry.key)
      if (same) same.push(entry)
      else this.#byKey.set(entry.key, [entry])
      if (isNameGlob(entry.key)) this.#globs.push({ matches: compileNameGlob(entry.key), entry })
    }
    this.#isCanonical = this.#globs.length === 0 && entries.every(({ key }) => key.startsWith(CANONICAL))
  }

  /** Whether only the canonical name of this tool can be a key here. */
  hasOnlyCanonicalName({ kind, server, name, wire, defaultWire }: Offer): boolean {
    if (!this.#isCanonical || kind !== 'tool') return false
    // A bare name may also be written with the prefix `mcp_`.
    return ![server, name, `mcp_${name}`, wire, defaultWire].some((text) => text?.startsWith(CANONICAL))
  }

  /** All names by which a person may write it. A bare name is included only if it matches one tool. */
  namesOf(offer: Offer): readonly string[] {
    const { name } = offer
    const names = fullNamesOf(offer)
    if (this.#isUnique(name)) for (const bare of bareNamesOf(name)) if (this.#isBare(bare)) names.push(bare)
    return names
  }

  /** The bare names, if they match several tools. */
  sharedNamesOf({ name }: Offer): readonly string[] {
    return this.#isUnique(name) ? NONE : bareNamesOf(name)
  }

  find(names: readonly string[]): readonly ToolEntry[] {
    const found: ToolEntry[] = []
    for (const name of names) for (const entry of this.#byKey.get(name) ?? NONE) addOnce(found, entry)
    for (const { matches, entry } of this.#globs) if (names.some(matches)) addOnce(found, entry)
    return found
  }

  /** Whether one of these names is a key, exactly as written. */
  has(names: readonly string[]): boolean {
    return names.some((name) => this.#byKey.has(name))
  }

  /** The entries whose key is one of these names and not a pattern. */
  own(names: readonly string[]): readonly ToolEntry[] {
    return this.withExactKey(names).filter(({ key }) => !isNameGlob(key))
  }

  /** The entries whose key is exactly one of these names. */
  withExactKey(names: readonly string[]): readonly ToolEntry[] {
    return names.flatMap((name) => this.#byKey.get(name) ?? [])
  }

  neighboursOf(server: string): Neighbors {
    const known = this.#neighbours.get(server)
    if (known) return known
    const own = new Set(this.snapshot.allTools.filter((offer) => offer.server === server).map(({ name }) => name))
    const others = this.snapshot.tools.filter((offer) => offer.server !== server && offer.isMcp)
    const neighbours = {
      otherServers: [...new Set(others.map((offer) => offer.server))],
      otherTools: new Set(others.map(({ name }) => name).filter((name) => !own.has(name))),
    }
    this.#neighbours.set(server, neighbours)
    return neighbours
  }

  /** Whether a bare name cannot be the full name of another tool. Otherwise a server could choose a name to get the rules of that tool. */
  #isBare(name: string): boolean {
    this.#defaultWireNames ??= new Set(this.snapshot.allTools.flatMap(({ defaultWire }) => defaultWire ?? []))
    return (
      !QUALIFIED_NAME.test(name) &&
      this.snapshot.toolNames.resolve(name) === undefined &&
      !this.#defaultWireNames.has(name)
    )
  }

  #isUnique(tool: string): boolean {
    this.#bareNames ??= countNames(this.snapshot.allTools)
    return this.#bareNames.get(tool) === 1
  }
}

function addOnce(entries: ToolEntry[], entry: ToolEntry): void {
  if (!entries.includes(entry)) entries.push(entry)
}

const NONE: readonly never[] = Object.freeze([])

/** The prefix of canonical names. */
const CANONICAL = 'mcp__'

/** Names that contain their server, even one that is missing at the moment. Wire names have no such form. */
const QUALIFIED_NAME = /^mcp__|\//

function fullNamesOf({ server, name, wire, defaultWire, recordName }: Offer): string[] {
  const names = [recordName, `${server}/${name}`, wire]
  return defaultWire === undefined ? names : [...names, defaultWire]
}

const bareNamesOf = (name: string): readonly string[] => [name, `mcp_${name}`]

function countNames(offers: readonly Offer[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { name } of offers) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** The new names of tools from tools.yaml, by canonical name. If there are several for one tool, the first is used. */
export function collectRenames(entries: readonly ToolEntry[], usual: NameTable): ReadonlyMap<string, string> {
  const renames = new Map<string, string>()
  for (const { key, fields } of entries) {
    if (fields.rename === undefined) continue
    for (const ref of toolsNamed(key, usual)) {
      const name = canonicalName(ref)
      if (!renames.has(name)) renames.set(name, fields.rename)
    }
  }
  return renames
}

/** The tools that this key matches. A bare name is used only if it matches one tool. */
function toolsNamed(key: string, usual: NameTable): readonly ToolRef[] {
  const found = usual.find(key)
  if (found.length === 1 || isNameGlob(key)) return found
  const bare = key.startsWith('mcp_') ? usual.find(key.slice('mcp_'.length)) : []
  return bare.length === 1 ? bare : []
}
