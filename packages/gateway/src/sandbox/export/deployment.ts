import type { HostRule, NetworkMode } from '@sallyport/core'

/** The ports of an exported proxy. The mode of a client is the port that it can reach. */
export const PROXY_PORTS = { PROXIED: 3128, FULL: 3129 } as const

/** A server that is deployed from an image, and serves MCP over HTTP. */
export interface DeployedServer {
  /** The name in the configuration. */
  readonly server: string
  /** A name for services: lower case, digits and dashes. */
  readonly name: string
  readonly image: string
  /** Where it listens in its container. */
  readonly port: number
  /** The path of its URL. */
  readonly path: string
  /** The names of the variables that it needs. Values may be secret, so they are not exported. */
  readonly env: readonly string[]
  /** Its instances: one with a network and an isolated one, or only the latter. */
  readonly modes: readonly NetworkMode[]
}

export interface Deployment {
  readonly allow: readonly HostRule[]
  readonly servers: readonly DeployedServer[]
}

/** One instance of a server. */
export interface Instance {
  readonly server: DeployedServer
  readonly name: string
  readonly mode: NetworkMode
  /** What the gateway calls its address. */
  readonly key: 'url' | 'url_isolated'
}

export function listInstances({ servers }: Deployment): readonly Instance[] {
  return servers.flatMap((server) =>
    server.modes.map((mode, index) => ({
      server,
      mode,
      name: index === 0 ? server.name : `${server.name}-isolated`,
      key: index === 0 ? ('url' as const) : ('url_isolated' as const),
    })),
  )
}

/** The port of the proxy that an instance may reach, if any. */
export const proxyPortOf = ({ mode }: Instance): number | undefined => (mode === 'NONE' ? undefined : PROXY_PORTS[mode])

/** The variables by which programs find the proxy. */
export function proxyVariables(proxy: string): Readonly<Record<string, string>> {
  const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']
  return {
    ...Object.fromEntries([...names, ...names.map((name) => name.toLowerCase())].map((name) => [name, proxy])),
    NO_PROXY: 'localhost,127.0.0.1',
    no_proxy: 'localhost,127.0.0.1',
    // Node does not read the others without it.
    NODE_USE_ENV_PROXY: '1',
  }
}

/** The entries of config.yaml for the gateway, as lines of a comment. */
export function describeEntries(
  instances: readonly Instance[],
  urlOf: (instance: Instance, index: number) => string,
): readonly string[] {
  return [...new Set(instances.map(({ server }) => server))].map((server) => {
    const urls = instances.flatMap((instance, index) =>
      instance.server === server ? [`${instance.key}: ${JSON.stringify(urlOf(instance, index))}`] : [],
    )
    return `${JSON.stringify(server.server)}: { ${urls.join(', ')} }`
  })
}

/** For parsers of YAML 1.1, too, to which an unquoted `13:13` is a number. */
export const YAML_STYLE = { version: '1.1', lineWidth: 0, aliasDuplicateObjects: false } as const
