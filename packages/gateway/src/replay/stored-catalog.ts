import { BUILT_IN_SERVER, LATEST_LEGACY_VERSION, type ToolDefinition } from '@sallyport/core'
import { Catalog, LastKnownCatalogs } from '../catalog/catalog.ts'
import type { Settings } from '../config/config.ts'
import type { CatalogCache } from '../store/store.ts'
import { createBuiltInServer, type ServerCatalog } from '../upstream/upstream.ts'

/** The last known catalogs of the servers in these settings. No server is started. */
export async function loadStoredCatalog(
  { servers, gateway }: Settings,
  stored: Pick<CatalogCache, 'load'>,
): Promise<Catalog> {
  const enabled = servers.filter((server) => server.enabled)
  const catalog = new Catalog([BUILT_IN_SERVER, ...enabled.map(({ id }) => id)], gateway.naming)
  const catalogs = new LastKnownCatalogs({ ...stored, save: () => undefined })
  catalog.put(BUILT_IN_SERVER, toServerCatalog(await builtInTools()))
  for (const server of enabled) {
    const known = catalogs.load(server)
    if (known) catalog.put(server.id, known)
  }
  return catalog
}

/** Lists the gateway's own tools, as any client would. They are never called. */
function builtInTools(): Promise<readonly ToolDefinition[]> {
  return new Promise((resolve) => {
    const connection = createBuiltInServer({ dataFolder: '/', version: REPLAY_VERSION }).connect((message) => {
      if (!('id' in message) || message.id !== LIST_REQUEST_ID) return
      connection.close()
      const { result } = message as { readonly result?: { readonly tools?: readonly ToolDefinition[] } }
      resolve(result?.tools ?? [])
    })
    const clientInfo = { name: 'replay', version: REPLAY_VERSION }
    const params = { protocolVersion: LATEST_LEGACY_VERSION, capabilities: {}, clientInfo }
    connection.receive({ jsonrpc: '2.0', id: LIST_REQUEST_ID - 1, method: 'initialize', params })
    connection.receive({ jsonrpc: '2.0', id: LIST_REQUEST_ID, method: 'tools/list', params: {} })
  })
}

const LIST_REQUEST_ID = 2
/** Any value: nobody sees it. */
const REPLAY_VERSION = '0'

const toServerCatalog = (tools: readonly ToolDefinition[]): ServerCatalog => ({
  era: 'legacy',
  protocolVersion: LATEST_LEGACY_VERSION,
  capabilities: { tools: {} },
  serverInfo: {},
  instructions: undefined,
  ...{ tools, resources: [], resourceTemplates: [], prompts: [], leftOut: [] },
})
