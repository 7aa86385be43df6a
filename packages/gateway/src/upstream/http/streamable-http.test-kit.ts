import type { HttpServerConfig } from '../../config/settings.ts'
import {
  httpConfig,
  initialize,
  opened,
  type Recorder,
  type ScriptedServer,
  startServer,
} from './http-transport.test-kit.ts'
import { StreamableHttpTransport } from './streamable-http-transport.ts'

export interface Opened {
  readonly server: ScriptedServer
  readonly transport: StreamableHttpTransport
  readonly events: Recorder
}

export async function connect(
  server: ScriptedServer,
  changes: Partial<HttpServerConfig> = {},
  path = '/mcp',
): Promise<Opened> {
  const config = httpConfig(server.origin + path, changes)
  return { server, ...(await opened(new StreamableHttpTransport({ config }))) }
}

/** Opened against a modern server. */
export async function modern(args: readonly string[] = [], changes: Partial<HttpServerConfig> = {}): Promise<Opened> {
  const made = await connect(await startServer('--era', 'modern', ...args), changes)
  made.transport.agreed('2026-07-28')
  return made
}

/** Opened against a legacy server, after the handshake. */
export async function legacy(args: readonly string[] = [], changes: Partial<HttpServerConfig> = {}): Promise<Opened> {
  const made = await connect(await startServer('--era', 'legacy', ...args), changes)
  await initialize(made.transport, made.events)
  return made
}
