import type { HttpServerConfig, ServerConfig } from '../config/config.ts'

/** The kind of entry that describes the gateway itself as a server. */
export type BuiltInConfig = Omit<HttpServerConfig, 'kind' | 'url' | 'headers' | 'fromVariables' | 'credentials'> & {
  readonly kind: 'built-in'
}

export type UpstreamConfig = ServerConfig | BuiltInConfig

/** An entry for tools that run inside the gateway. */
export function builtInConfig(id: string): BuiltInConfig {
  return {
    id,
    kind: 'built-in',
    title: undefined,
    enabled: true,
    era: 'modern',
    timeouts: { startup: 5_000, call: 60_000, callMaximum: 600_000, idle: undefined },
    includeTools: undefined,
    excludeTools: [],
    isolated: false,
    isolatedTools: [],
    result: undefined,
    trusted: true,
    maxMessageBytes: 64 * 1_024 * 1_024,
    location: { file: 'built in', line: 0 },
  }
}
