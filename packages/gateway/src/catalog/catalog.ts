import { type JsonObject, type Naming, type SallyportEvent, sameExactJson } from '@sallyport/core'
import type { ServerCatalog } from '../upstream/upstream.ts'
import { toolNamesOf } from './catalog-format.ts'
import { CatalogSnapshot, type FindRenames } from './catalog-snapshot.ts'

export { CatalogSnapshot, type FindRenames, findHeaderParams } from './catalog-snapshot.ts'
export { type CounterpartDrift, compareOnCounterpart, findCounterpartDrift } from './counterpart.ts'
export { MODERN_TASKS } from './extensions.ts'
export { LastKnownCatalogs } from './last-known-catalogs.ts'
export { type Offer, reviewName } from './offer.ts'
export { isResourceAddress, toResourceAddress } from './resource-address.ts'

/** Which lists changed. */
export interface CatalogChange {
  readonly tools: boolean
  readonly resources: boolean
  readonly prompts: boolean
}

type ListKey = 'tools' | 'resources' | 'resourceTemplates' | 'prompts'

const LISTS = { tools: ['tools'], resources: ['resources', 'resourceTemplates'], prompts: ['prompts'] } as const

/** The catalogs of all servers together. It changes one whole server at a time; readers take a snapshot. */
export class Catalog {
  readonly #catalogs = new Map<string, ServerCatalog>()
  readonly #listeners = new Set<(change: CatalogChange) => void>()
  #order: readonly string[]
  #naming: Naming
  #findRenames: FindRenames | undefined
  #snapshot: CatalogSnapshot | undefined

  constructor(order: readonly string[], naming: Naming) {
    this.#order = order
    this.#naming = naming
  }

  get snapshot(): CatalogSnapshot {
    this.#snapshot ??= new CatalogSnapshot(
      this.#order.flatMap((server) => {
        const serverCatalog = this.#catalogs.get(server)
        return serverCatalog ? [{ server, catalog: serverCatalog }] : []
      }),
      this.#naming,
      this.#findRenames,
    )
    return this.#snapshot
  }

  /** The servers of the configuration in its order, whether their catalogs are known or not. */
  get servers(): readonly string[] {
    return this.#order
  }

  serverCatalog(server: string): ServerCatalog | undefined {
    return this.#catalogs.get(server)
  }

  knows(server: string): boolean {
    return this.#catalogs.has(server)
  }

  /**
   * Replaces the catalog of a server and returns the one that is now in use. Listeners are not called if nothing
   * changed.
   */
  put(server: string, serverCatalog: ServerCatalog): ServerCatalog {
    const before = this.#catalogs.get(server)
    const change = compareCatalogs(before, serverCatalog)
    const now = before ? reuseKnownItems(before, serverCatalog, change) : serverCatalog
    this.#catalogs.set(server, now)
    // A snapshot, and all decisions and lists derived from it, stay valid while nothing changes.
    const isSame = before?.revealed === serverCatalog.revealed && !isChange(change)
    if (before === undefined || !isSame || !sameHandshake(before, serverCatalog)) this.#snapshot = undefined
    this.#notify(change)
    return now
  }

  /** Call this after the configuration changed: servers that it no longer names are removed. */
  reconfigure(order: readonly string[], naming: Naming): void {
    for (const server of [...this.#catalogs.keys()]) if (!order.includes(server)) this.#catalogs.delete(server)
    this.#order = order
    this.#naming = naming
    this.#snapshot = undefined
    this.#notify({ tools: true, resources: true, prompts: true })
  }

  /** From now on tools have the names that people chose. */
  setRenames(renamesOf: FindRenames): void {
    this.#findRenames = renamesOf
    this.#snapshot = undefined
  }

  onChange(listener: (change: CatalogChange) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  #notify(change: CatalogChange): void {
    if (!isChange(change)) return
    for (const listener of this.#listeners) listener(change)
  }
}

function compareCatalogs(before: ServerCatalog | undefined, after: ServerCatalog): CatalogChange {
  const differs = (lists: readonly ListKey[]): boolean =>
    lists.some((list) => (before === undefined ? offersAny(after, list) : !sameExactJson(before[list], after[list])))
  return { tools: differs(LISTS.tools), resources: differs(LISTS.resources), prompts: differs(LISTS.prompts) }
}

const offersAny = (serverCatalog: ServerCatalog, list: ListKey): boolean =>
  (list === 'tools' ? toolNamesOf(serverCatalog) : serverCatalog[list]).length > 0

const isChange = ({ tools, resources, prompts }: CatalogChange): boolean => tools || resources || prompts

/** Caches use definition objects as keys, so the objects of unchanged definitions are reused. */
function reuseKnownItems(before: ServerCatalog, after: ServerCatalog, change: CatalogChange): ServerCatalog {
  const reuse = <Key extends ListKey>(list: Key, nameKey: string, isChanged: boolean): ServerCatalog[Key] => {
    if (!isChanged) return before[list]
    const known = new Map(before[list].map((item) => [item[nameKey], item]))
    const same = (item: JsonObject): JsonObject => {
      const old = known.get(item[nameKey])
      return old !== undefined && sameExactJson(old, item) ? old : item
    }
    return after[list].map(same) as unknown as ServerCatalog[Key]
  }
  return {
    ...after,
    tools: reuse('tools', 'name', change.tools),
    prompts: reuse('prompts', 'name', change.prompts),
    resources: reuse('resources', 'uri', change.resources),
    resourceTemplates: reuse('resourceTemplates', 'uriTemplate', change.resources),
  }
}

function sameHandshake(a: ServerCatalog, b: ServerCatalog): boolean {
  const opening = ({ instructions, capabilities, serverInfo, leftOut }: ServerCatalog): string =>
    JSON.stringify([instructions, capabilities, serverInfo, leftOut])
  return opening(a) === opening(b)
}

/** A server decides how many tools it has and how often they change. It must not decide the size of our log. */
const MAX_NAMED = 100

/** How a server's tools changed since they were last seen; `undefined` if they did not. */
export function buildDiscoveryEvent(
  server: string,
  before: ServerCatalog | undefined,
  after: ServerCatalog,
): SallyportEvent | undefined {
  if (before?.tools === after.tools && before?.revealed === after.revealed) return undefined
  const printed = (serverCatalog: ServerCatalog | undefined) =>
    new Map(
      [...(serverCatalog?.tools ?? []), ...(serverCatalog?.revealed?.tools ?? [])].map((tool) => [
        String(tool.name),
        JSON.stringify(tool),
      ]),
    )
  const [old, now] = [printed(before), printed(after)]
  const added = [...now.keys()].filter((name) => !old.has(name))
  const removed = [...old.keys()].filter((name) => !now.has(name))
  const changed = [...now].filter(([name, text]) => old.has(name) && old.get(name) !== text).map(([name]) => name)
  if (added.length + removed.length + changed.length === 0) return undefined
  return {
    type: 'TOOLS_DISCOVERED',
    server,
    added: added.slice(0, MAX_NAMED),
    removed: removed.slice(0, MAX_NAMED),
    changed: changed.slice(0, MAX_NAMED),
    tools: now.size,
  }
}
