import { BUILT_IN_SERVER } from '@sallyport/core'
import type { Catalog, Offer } from '../catalog/catalog.ts'

type ListKey = 'tools' | 'resources' | 'resourceTemplates' | 'prompts'

/** A day, in milliseconds. A clock that was set back would promise more. */
const MAX_TTL_MS = 86_400_000

/**
 * The servers that can change a list which shows these offers: those of the offers, those of which nothing is known yet,
 * and those that offer nothing so far. Our own tools change with the program only.
 */
export function serversAffectingList(
  catalog: Catalog,
  offers: readonly Offer[],
  { key, capability }: { readonly key: ListKey; readonly capability: string },
): readonly string[] {
  const shown = new Set(offers.map(({ server }) => server))
  return catalog.servers.filter((server) => {
    if (server === BUILT_IN_SERVER) return false
    const catalogue = catalog.serverCatalog(server)
    if (catalogue === undefined || shown.has(server)) return true
    return catalogue.capabilities[capability] !== undefined && catalogue[key].length === 0
  })
}

/** For how many milliseconds a list of these servers stays as it is: as long as the one that ages first says. */
export function computeListTtl(
  catalog: Catalog,
  servers: readonly string[],
  { list, now }: { readonly list: ListKey; readonly now: number },
): number {
  let least = servers.length === 0 ? 0 : MAX_TTL_MS
  for (const server of servers) {
    const until: unknown = catalog.serverCatalog(server)?.freshUntil?.[list]
    least = Math.min(least, typeof until === 'number' ? until - now : 0)
  }
  return Math.max(0, Math.floor(least))
}
