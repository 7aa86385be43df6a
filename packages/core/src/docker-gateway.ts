export const DOCKER_GATEWAY_COMMAND: readonly string[] = ['docker', 'mcp', 'gateway', 'run']

/** The variables that the Docker CLI and its MCP plugin read. Without them they cannot find the daemon. */
export const DOCKER_ENVIRONMENT: readonly string[] = [
  'DOCKER_API_VERSION',
  'DOCKER_CERT_PATH',
  'DOCKER_CONFIG',
  'DOCKER_CONTEXT',
  'DOCKER_HOST',
  'DOCKER_MCP_ALLOW_INSECURE_REMOTE_URLS',
  'DOCKER_TLS',
  'DOCKER_TLS_VERIFY',
  'MCP_GATEWAY_AUTH_TOKEN',
  'MCP_GATEWAY_DOCKER_ALLOW_WRITABLE_PATHS',
  'MCP_GATEWAY_DOCKER_BIND_ALLOWED_PATHS',
]

/** The options of `docker mcp gateway run`, by their own names. */
export interface DockerGatewayOptions {
  readonly servers: readonly string[]
  readonly profile?: string | undefined
  readonly catalogs?: readonly string[] | undefined
  readonly secrets?: string | undefined
  readonly tools?: readonly string[] | undefined
  readonly interceptors?: readonly string[] | undefined
  readonly cpus?: number | undefined
  readonly memory?: string | undefined
  readonly blockNetwork?: boolean | undefined
  readonly blockSecrets?: boolean | undefined
  readonly verifySignatures?: boolean | undefined
  readonly longLived?: boolean | undefined
  readonly static?: boolean | undefined
  readonly extraArgs?: readonly string[] | undefined
}

/** The arguments of `docker mcp gateway run`, except those that say where it listens. */
export function buildDockerGatewayArguments(options: DockerGatewayOptions): readonly string[] {
  const { servers, tools, catalogs, interceptors = [] } = options
  return [
    ...listOption('--servers', servers),
    ...valueOption('--profile', options.profile),
    ...listOption('--catalog', catalogs),
    ...valueOption('--secrets', options.secrets),
    ...listOption('--tools', tools),
    // Unlike the lists above, these are not split at commas.
    ...interceptors.flatMap((interceptor) => ['--interceptor', interceptor]),
    ...valueOption('--cpus', options.cpus),
    ...valueOption('--memory', options.memory),
    ...flagOption('--block-network', options.blockNetwork),
    ...flagOption('--block-secrets', options.blockSecrets),
    ...flagOption('--verify-signatures', options.verifySignatures),
    ...flagOption('--long-lived', options.longLived),
    ...flagOption('--static', options.static),
    ...(options.extraArgs ?? []),
  ]
}

const listOption = (name: string, items: readonly string[] | undefined): readonly string[] =>
  items === undefined || items.length === 0 ? [] : [name, items.join(',')]

const valueOption = (name: string, value: string | number | undefined): readonly string[] =>
  value === undefined ? [] : [name, String(value)]

/** The Docker CLI accepts the value of a flag only after "=". */
const flagOption = (name: string, value: boolean | undefined): readonly string[] =>
  value === undefined ? [] : [`${name}=${value}`]
