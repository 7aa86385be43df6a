import { type KitConfigOptions, readKitConfig } from '../config/config.ts'
import { readClientEntry } from './client-entry.ts'
import { type ClientOptions, createMcpClient } from './create-client.ts'
import type { McpClient } from './mcp-client.ts'

/** How the client behaves, and which file names the server. */
export interface NamedClientOptions extends ClientOptions, KitConfigOptions {}

/** Opens a client for a server that config.yaml names. What the code says goes before what the file says. */
export async function getMcpClient(name: string, options: NamedClientOptions = {}): Promise<McpClient> {
  // biome-ignore lint/style/noProcessEnv: as with readKitConfig, whoever leaves it out means that of the program.
  const { environment = process.env } = options
  const { target, options: written } = readClientEntry(await readKitConfig(name, options), environment)
  return createMcpClient({ ...written, ...options, ...target })
}
