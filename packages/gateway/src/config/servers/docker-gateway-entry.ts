import { buildDockerGatewayArguments, DOCKER_GATEWAY_COMMAND, splitShellWords } from '@sallyport/core'
import { type EntrySource, readCommonSettings, readEitherKey, readProgram } from '../reading/entry-source.ts'
import type { DockerGatewayConfig } from '../settings.ts'
import type { DockerGatewayEntry } from './docker-gateway-schema.ts'
import type { DockerVariables } from './docker-variables.ts'
import { refuseSandbox } from './sandbox-entry.ts'
import { hasStrayCounterpart } from './server-entry.ts'

/** The id of the server that MCP_GATEWAY_ENABLED adds. */
export const DOCKER_ID = 'docker'

/** For the start, and for each call. */
const DEFAULT_TIMEOUT_MS = 30_000

type Source = EntrySource<DockerGatewayEntry>

/** Reads an entry with `type: docker-gateway`. Variables fill in missing keys. If it is invalid, it logs its problems and returns `undefined`. */
export function readDockerGateway(source: Source, variables: DockerVariables): DockerGatewayConfig | undefined {
  const { entry } = source
  if (hasStrayCounterpart(source)) return undefined
  refuseSandbox(source)
  const command = readCommand(source) ?? variables.command ?? DOCKER_GATEWAY_COMMAND
  const program = readProgram(source, command)
  if (program === undefined) return undefined
  const servers = readServers(source, variables)
  checkOptions(source)
  const timeout = variables.timeout ?? DEFAULT_TIMEOUT_MS
  const common = readCommonSettings(source, { startup: timeout, call: timeout })
  return {
    ...common,
    ...program,
    kind: 'docker-gateway',
    // Starting is slow, so it is not done twice only to find out that the server supports no other era.
    era: entry.era ?? 'legacy',
    args: [...program.args, ...buildDockerGatewayArguments({ ...entry, servers })],
    transport: entry.transport ?? 'stdio',
    port: entry.port,
  }
}

/** The server for an environment in which only the variables ask for one. */
export function createDefaultDockerServer(
  reading: Pick<Source, 'home' | 'userHome' | 'log'> & { readonly docker: DockerVariables },
): DockerGatewayConfig | undefined {
  const { home, userHome, log, docker } = reading
  const source: Source = {
    ...{ home, userHome, log },
    sandboxDefault: { isolates: false, driver: 'auto' },
    id: DOCKER_ID,
    originalName: undefined,
    heldBack: undefined,
    entry: { type: 'docker-gateway' },
    fromVariables: [],
    credentials: [],
    node: { offset: 0, key: '', origin: 'written', children: new Map() },
    location: { file: 'MCP_GATEWAY_ENABLED', line: 0 },
  }
  return readDockerGateway(source, docker)
}

function readCommand({ entry: { command }, node, log }: Source): readonly string[] | undefined {
  if (command === undefined || typeof command !== 'string') return command
  const words = splitShellWords(command)
  if (words !== undefined) return words
  log.error(node.children.get('command') ?? node, 'expected a command in which all quotes are closed.')
  return undefined
}

function readServers(source: Source, variables: DockerVariables): readonly string[] {
  const written = readEitherKey(source, ['enabledServers', 'servers'])
  if (written !== undefined) return written
  return source.entry.profile === undefined ? (variables.servers ?? []) : []
}

function checkOptions({ entry, node, log }: Source): void {
  const at = (key: string) => node.children.get(key) ?? node
  if (entry.identity !== undefined)
    log.error(
      at('identity'),
      'a Docker MCP Gateway cannot pass on who calls. Add the server itself, or remove this key.',
    )
  if (entry.port !== undefined && entry.transport !== 'streaming')
    log.error(at('port'), 'a port is used only with "transport: streaming". Add that, or remove the port.')
  if (entry.profile === undefined) return
  for (const key of ['enabledServers', 'servers', 'catalogs'] as const)
    if (entry[key] !== undefined && entry[key].length > 0)
      log.error(at(key), 'Docker does not accept this together with "profile". Keep one of them.')
}
