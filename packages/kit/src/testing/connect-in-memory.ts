import type { McpServer } from '../mcp-server.ts'
import { InMemoryClient, type InMemoryOptions } from './in-memory-client.ts'

/** A client of the server, in this process and on behalf of the user that the options name. */
export async function connectInMemory(server: McpServer, options: InMemoryOptions = {}): Promise<InMemoryClient> {
  const client = new InMemoryClient(server, options)
  await client.open()
  return client
}
