import { type HostRule, isListed, parseHost } from '@sallyport/core'
import type { LabelSettings, ServerConfig } from '../settings.ts'

/** How calls of private sessions reach a server without leaving the network that is meant for private data. */
export type PrivateRoute = 'isolated-instance' | 'allowed-host' | 'sandbox'

/** `undefined`: calls of the server may send data anywhere. */
export function findPrivateRoute(server: ServerConfig | undefined, labels: LabelSettings): PrivateRoute | undefined {
  if (server !== undefined && 'urlIsolated' in server && server.urlIsolated !== undefined) return 'isolated-instance'
  if (server !== undefined && isSandboxed(server)) return 'sandbox'
  return server !== undefined && isAllowedHost(server, labels) ? 'allowed-host' : undefined
}

/** Whether programs of the server run in a sandbox. */
export const isSandboxed = (server: ServerConfig): boolean =>
  server.kind === 'stdio' && server.sandbox !== undefined && server.sandbox.driver !== 'none'

/** Whether a process of it has to end when its session gets private data: its entry refuses the sandbox of all others. */
export const refusesSandbox = (server: ServerConfig | undefined): boolean =>
  server?.kind === 'stdio' && server.sandbox?.driver === 'none'

/** The routes that the operator can give to a server in config.yaml. */
export function listPossibleRoutes(server: ServerConfig | undefined): readonly PrivateRoute[] {
  if (server === undefined || server.kind === 'docker-gateway') return []
  return server.kind === 'stdio' ? ['sandbox'] : ['allowed-host', 'isolated-instance']
}

interface KnownHost {
  readonly allow: readonly HostRule[]
  readonly isAllowed: boolean
}

/** Each call of a private session asks, and to read a URL costs as much as the rest of its decision. */
const knownHosts = new WeakMap<ServerConfig, KnownHost>()

/** Whether the host of a remote server may be reached with CONFIDENTIAL data: `sandbox.proxied.allow` lists it. */
function isAllowedHost(server: ServerConfig, { allow }: Pick<LabelSettings, 'allow'>): boolean {
  const known = knownHosts.get(server)
  if (known?.allow === allow) return known.isAllowed
  const isAllowed = matchesAny(server, allow)
  knownHosts.set(server, { allow, isAllowed })
  return isAllowed
}

function matchesAny(server: ServerConfig, allow: readonly HostRule[]): boolean {
  if (allow.length === 0 || !('url' in server) || !URL.canParse(server.url)) return false
  const { hostname, port, protocol } = new URL(server.url)
  const host = parseHost(hostname)
  const usualPort = protocol === 'https:' ? 443 : 80
  return host !== undefined && isListed(allow, { host, port: port === '' ? usualPort : Number(port) })
}
