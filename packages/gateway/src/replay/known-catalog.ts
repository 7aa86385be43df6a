import { BUILT_IN_SERVER, isJsonObject, LATEST_LEGACY_VERSION, type ToolDefinition } from '@sallyport/core'
import { Catalog, CatalogueShelf } from '../catalog/catalog.ts'
import type { Settings } from '../config/config.ts'
import type { CatalogueCache } from '../store/store.ts'
import { createBuiltInServer, type ServerCatalogue } from '../upstream/upstream.ts'

/** What the servers of these settings offered when they were last heard of. None of them is started. */
export function knownCatalog({ servers, gateway }: Settings, kept: Pick<CatalogueCache, 'load'>): Catalog {
  const enabled = servers.filter((server) => server.enabled)
  const catalog = new Catalog([BUILT_IN_SERVER, ...enabled.map(({ id }) => id)], gateway.naming)
  const shelf = new CatalogueShelf({ ...kept, save: () => undefined })
  catalog.put(BUILT_IN_SERVER, builtIns())
  for (const server of enabled) {
    const known = shelf.load(server)
    if (known) catalog.put(server.id, known)
  }
  return catalog
}

/** The gateway's own tools come with it: they are asked for as any client would, and never called. */
function builtIns(): ServerCatalogue {
  let tools: readonly ToolDefinition[] = []
  const connection = createBuiltInServer({ workspaceRoot: '/', version: '0' }).connect((message) => {
    if (!('result' in message) || !isJsonObject(message.result)) return
    if (Array.isArray(message.result.tools)) tools = message.result.tools
  })
  const clientInfo = { name: 'replay', version: '0' }
  const opening = { protocolVersion: LATEST_LEGACY_VERSION, capabilities: {}, clientInfo }
  connection.receive({ jsonrpc: '2.0', id: 1, method: 'initialize', params: opening })
  connection.receive({ jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} })
  connection.close()
  return {
    era: 'legacy',
    protocolVersion: LATEST_LEGACY_VERSION,
    capabilities: { tools: {} },
    serverInfo: {},
    instructions: undefined,
    ...{ tools, resources: [], resourceTemplates: [], prompts: [], leftOut: [] },
  }
}
