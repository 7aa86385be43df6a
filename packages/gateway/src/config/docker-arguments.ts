import type { DockerGatewayEntry } from './docker-gateway-schema.ts'

type Options = Omit<DockerGatewayEntry, 'servers' | 'enabledServers'> & { readonly servers: readonly string[] }

/** What `docker mcp gateway run` is to be told, but for where it listens. */
export function dockerArguments(options: Options): readonly string[] {
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

/** A flag takes its value only behind "=". */
const flagOption = (name: string, value: boolean | undefined): readonly string[] =>
  value === undefined ? [] : [`${name}=${value}`]
