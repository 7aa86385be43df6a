import { buildDockerGatewayArguments, DOCKER_GATEWAY_COMMAND, splitShellWords } from '@sallyport/core'
import { type EntrySource, readCommonSettings, readEitherKey, readProgram } from '../reading/entry-source.ts'
import type { DockerGatewayConfig } from '../settings.ts'
import type { DockerGatewayEntry } from './docker-gateway-schema.ts'
import type { DockerVariables } from './docker-variables.ts'

/** Of the entry that MCP_GATEWAY_ENABLED adds. */
export const DOCKER_ID = 'docker'

/** Of its start, and of each call. */
const DEFAULT_TIMEOUT_MS = 30_000

type Source = EntrySource<DockerGatewayEntry>

/** An entry of `type: docker-gateway`; variables give what it leaves out. Nothing after its problems were logged. */
export function readDockerGateway(source: Source, variables: DockerVariables): DockerGatewayConfig | undefined {
  const { entry } = source
  const words = readCommand(source) ?? variables.command ?? DOCKER_GATEWAY_COMMAND
  const program = readProgram(source, words)
  if (program === undefined) return undefined
  const servers = readServers(source, variables)
  checkOptions(source)
  const timeout = variables.timeout ?? DEFAULT_TIMEOUT_MS
  const common = readCommonSettings(source, { startup: timeout, call: timeout })
  return {
    ...common,
    ...program,
    kind: 'docker-gateway',
    // A start takes long: it is not made twice to find out that the server knows no other era.
    era: entry.era ?? 'legacy',
    args: [...program.args, ...buildDockerGatewayArguments({ ...entry, servers })],
    transport: entry.transport ?? 'stdio',
    port: entry.port,
  }
}

/** The entry that variables alone ask for. */
export function createDefaultDockerServer(
  reading: Pick<Source, 'home' | 'userHome' | 'log'> & { readonly docker: DockerVariables },
): DockerGatewayConfig | undefined {
  const { home, userHome, log, docker } = reading
  const source: Source = {
    ...{ home, userHome, log },
    id: DOCKER_ID,
    originalName: undefined,
    heldBack: undefined,
    entry: { type: 'docker-gateway' },
    fromVariables: [],
    credentials: [],
    node: { offset: 0, key: '', origin: 'written', children: new Map() },
    place: { file: 'MCP_GATEWAY_ENABLED', line: 0 },
  }
  return readDockerGateway(source, docker)
}

function readCommand({ entry: { command }, node, log }: Source): readonly string[] | undefined {
  if (command === undefined || typeof command !== 'string') return command
  const words = splitShellWords(command)
  if (words !== undefined) return words
  log.error(node.children.get('command') ?? node, 'expected a command in which every quote is closed.')
  return undefined
}

function readServers(source: Source, variables: DockerVariables): readonly string[] {
  const written = readEitherKey(source, ['enabledServers', 'servers'])
  if (written !== undefined) return written
  return source.entry.profile === undefined ? (variables.servers ?? []) : []
}

function checkOptions({ entry, node, log }: Source): void {
  const at = (key: string) => node.children.get(key) ?? node
  if (entry.port !== undefined && entry.transport !== 'streaming')
    log.error(at('port'), 'a port is of use with "transport: streaming" only. Add that, or remove the port.')
  if (entry.profile === undefined) return
  for (const key of ['enabledServers', 'servers', 'catalogs'] as const)
    if (entry[key] !== undefined && entry[key].length > 0)
      log.error(at(key), 'Docker does not take this together with "profile". Keep one of them.')
}
