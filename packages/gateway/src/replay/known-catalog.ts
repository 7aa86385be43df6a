import { BUILT_IN_SERVER, LATEST_LEGACY_VERSION, type ToolDefinition } from '@sallyport/core'
import { Catalog, CatalogueShelf } from '../catalog/catalog.ts'
import type { Settings } from '../config/config.ts'
import type { CatalogueCache } from '../store/store.ts'
import { createBuiltInServer, type ServerCatalogue } from '../upstream/upstream.ts'

/** What the servers of these settings offered when they were last heard of. None of them is started. */
export async function knownCatalog(
  { servers, gateway }: Settings,
  kept: Pick<CatalogueCache, 'load'>,
): Promise<Catalog> {
  const enabled = servers.filter((server) => server.enabled)
  const catalog = new Catalog([BUILT_IN_SERVER, ...enabled.map(({ id }) => id)], gateway.naming)
  const shelf = new CatalogueShelf({ ...kept, save: () => undefined })
  catalog.put(BUILT_IN_SERVER, catalogueOf(await builtInTools()))
  for (const server of enabled) {
    const known = shelf.load(server)
    if (known) catalog.put(server.id, known)
  }
  return catalog
}

/** The gateway's own tools come with it: they are asked for as any client would, and never called. */
function builtInTools(): Promise<readonly ToolDefinition[]> {
  return new Promise((resolve) => {
    const connection = createBuiltInServer({ dataFolder: '/', version: VERSION }).connect((message) => {
      if (!('id' in message) || message.id !== LISTING) return
      connection.close()
      const { result } = message as { readonly result?: { readonly tools?: readonly ToolDefinition[] } }
      resolve(result?.tools ?? [])
    })
    const clientInfo = { name: 'replay', version: VERSION }
    const opening = { protocolVersion: LATEST_LEGACY_VERSION, capabilities: {}, clientInfo }
    connection.receive({ jsonrpc: '2.0', id: LISTING - 1, method: 'initialize', params: opening })
    connection.receive({ jsonrpc: '2.0', id: LISTING, method: 'tools/list', params: {} })
  })
}

const LISTING = 2
/** Nobody sees it. */
const VERSION = '0'

const catalogueOf = (tools: readonly ToolDefinition[]): ServerCatalogue => ({
  era: 'legacy',
  protocolVersion: LATEST_LEGACY_VERSION,
  capabilities: { tools: {} },
  serverInfo: {},
  instructions: undefined,
  ...{ tools, resources: [], resourceTemplates: [], prompts: [], leftOut: [] },
})
