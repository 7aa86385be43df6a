import { isolatedName } from '@sallyport/core'
import type { HttpServerConfig, ServerConfig } from '../config/config.ts'

/** The kind of entry that describes the gateway itself as a server. */
export type BuiltInConfig = Omit<HttpServerConfig, 'kind' | 'url' | 'headers' | 'fromVariables' | 'credentials'> & {
  readonly kind: 'built-in'
}

export type UpstreamConfig = ServerConfig | BuiltInConfig

/** The same entry for the normal instance alone. */
export function normalConfig(config: ServerConfig): ServerConfig {
  if (!('urlIsolated' in config)) return config
  const { urlIsolated: _, ...normal } = config
  return normal
}

/**
 * The entry of the isolated instance; `undefined` if there is none. It is not stopped when it is idle: nobody calls it
 * until a session has private data, and then it must be ready.
 */
export function isolatedConfig(config: ServerConfig): HttpServerConfig | undefined {
  if (!('urlIsolated' in config) || config.urlIsolated === undefined) return undefined
  const { urlIsolated, ...normal } = config
  const timeouts = { ...config.timeouts, idle: undefined }
  return { ...normal, id: isolatedName(config.id), url: urlIsolated, timeouts }
}

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
