import type { HttpServerConfig } from '../../config/settings.ts'
import {
  httpConfig,
  initialize,
  openTransport,
  type Recorder,
  type ScriptedServer,
  startServer,
} from './http-transport.test-kit.ts'
import { StreamableHttpTransport } from './streamable-http-transport.ts'

export interface TestConnection {
  readonly server: ScriptedServer
  readonly transport: StreamableHttpTransport
  readonly events: Recorder
}

export async function connect(
  server: ScriptedServer,
  changes: Partial<HttpServerConfig> = {},
  path = '/mcp',
): Promise<TestConnection> {
  const config = httpConfig(server.origin + path, changes)
  return { server, ...(await openTransport(new StreamableHttpTransport({ config }))) }
}

/** Opened against a modern server. */
export async function connectModern(
  args: readonly string[] = [],
  changes: Partial<HttpServerConfig> = {},
): Promise<TestConnection> {
  const made = await connect(await startServer('--era', 'modern', ...args), changes)
  made.transport.setProtocolVersion('2026-07-28')
  return made
}

/** Opened against a legacy server, after the handshake. */
export async function connectLegacy(
  args: readonly string[] = [],
  changes: Partial<HttpServerConfig> = {},
): Promise<TestConnection> {
  const made = await connect(await startServer('--era', 'legacy', ...args), changes)
  await initialize(made.transport, made.events)
  return made
}
