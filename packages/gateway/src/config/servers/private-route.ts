import type { LabelSettings, ServerConfig } from '../settings.ts'

/** The ports that a rule without one means. */
const USUAL_PORTS = ['80', '443']

/** How calls of private sessions reach a server without leaving the network that is meant for private data. */
export type PrivateRoute = 'isolated-instance' | 'allowed-host'

/** `undefined`: calls of the server may send data anywhere. */
export function findPrivateRoute(server: ServerConfig | undefined, labels: LabelSettings): PrivateRoute | undefined {
  if (server !== undefined && 'urlIsolated' in server && server.urlIsolated !== undefined) return 'isolated-instance'
  return server !== undefined && isAllowedHost(server, labels) ? 'allowed-host' : undefined
}

interface KnownHost {
  readonly allow: readonly string[]
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

function matchesAny(server: ServerConfig, allow: readonly string[]): boolean {
  if (allow.length === 0 || !('url' in server) || !URL.canParse(server.url)) return false
  const { hostname, port, protocol } = new URL(server.url)
  const actualPort = port === '' ? (protocol === 'https:' ? '443' : '80') : port
  return allow.some((rule) => matchesHost(rule.toLowerCase(), hostname.toLowerCase(), actualPort))
}

function matchesHost(rule: string, host: string, port: string): boolean {
  const written = /:(\d+)$/.exec(rule)
  const name = written === null ? rule : rule.slice(0, written.index)
  if (written === null ? !USUAL_PORTS.includes(port) : written[1] !== port) return false
  return name.startsWith('*.') ? host.endsWith(name.slice(1)) && host.length > name.length - 1 : host === name
}
