import { createRequestStateCodec, McpServer, type ServerNotifier } from '@modelcontextprotocol/server'
import { addAskingTools } from './asking-tools.ts'
import { addContentTools } from './content-tools.ts'
import { addInputTools } from './input-tools.ts'
import { addNoticeTools } from './notice-tools.ts'
import { addPrompts, addResources } from './offers.ts'

export type StateCodec = ReturnType<typeof createRequestStateCodec<Record<string, unknown>>>

/** One key for all servers of this process: over HTTP each modern request gets a server of its own. */
const codec: StateCodec = createRequestStateCodec({ key: crypto.getRandomValues(new Uint8Array(32)) })

const OPTIONS = {
  capabilities: {
    tools: { listChanged: true },
    prompts: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    logging: {},
    completions: {},
  },
  requestState: { verify: codec.verify },
} as const

/** A server for one connection, or, over modern HTTP, for one request: then `announce` reaches those who listen. */
export function createSdkServer({ announce }: { readonly announce?: ServerNotifier } = {}): McpServer {
  const mcp = new McpServer({ name: 'sdk-fixture', version: '1.0.0' }, OPTIONS)
  addContentTools(mcp)
  addNoticeTools(mcp, announce)
  addAskingTools(mcp)
  addInputTools(mcp, codec)
  addResources(mcp)
  addPrompts(mcp)
  mcp.server.setRequestHandler('completion/complete', () => ({ completion: { values: [], total: 0, hasMore: false } }))
  return mcp
}
