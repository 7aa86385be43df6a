import { join } from 'node:path'
import { isJsonObject, type Json, type JsonObject, SallyportError, toCamelCase } from '@sallyport/core'
import { type HostContext, type NativeServer, readAgentConfigs } from '../../agents/agents.ts'
import { DEFAULT_SETTINGS, isOwnGateway, locateHome, readHomeFile } from '../../config/config.ts'
import type { CliContext } from '../cli-context.ts'
import type { HookAgent } from './hook-agent.ts'
import { type IsolationRules, parseServerRule, type ToolRule } from './isolation-rules.ts'

/** All sources that define which tools are isolated. */
export interface IsolationSources {
  /** Each source applies on its own: none can disable what another one isolates. */
  readonly rules: readonly IsolationRules[]
  /** The agent's own servers. */
  readonly nativeServers: readonly NativeServer[]
  /** The Sallyport home folders. */
  readonly homes: readonly string[]
  readonly warnings: readonly string[]
}

export interface SourceOptions {
  readonly home: string | undefined
  readonly host: HostContext
}

export async function readIsolationSources(
  agent: HookAgent,
  context: CliContext,
  options: SourceOptions,
): Promise<IsolationSources> {
  const { homes, warnings } = locateHomes(context, options)
  const [native, ...ours] = await Promise.all([readNativeRules(agent, options.host), ...homes.map(readHomeRules)])
  const results = [native, ...ours]
  return {
    rules: results.map(({ rules }) => rules),
    nativeServers: native.servers,
    homes,
    warnings: [...warnings, ...results.flatMap((one) => one.warnings)],
  }
}

/**
 * A home that came with a project is not trusted: it can add isolation rules to those of the user, but not remove any.
 */
function locateHomes(
  { environment, cwd }: CliContext,
  { home }: SourceOptions,
): Pick<IsolationSources, 'homes' | 'warnings'> {
  try {
    const found = locateHome({ flag: home, environment, cwd })
    const own = found.origin === 'project' ? [locateHome({ flag: undefined, environment, cwd: '/' }).path] : []
    return { homes: [found.path, ...own], warnings: [] }
  } catch (error) {
    // The agent's own files still apply.
    if (!(error instanceof SallyportError)) throw error
    return { homes: [], warnings: [error.message] }
  }
}

interface RulesResult {
  readonly rules: IsolationRules
  readonly warnings: readonly string[]
}

/**
 * Reads the agent's files, of the user and of the project. A broken file is reported and does not affect the others.
 */
async function readNativeRules(
  { adapter }: HookAgent,
  host: HostContext,
): Promise<RulesResult & { readonly servers: readonly NativeServer[] }> {
  const readings = await readAgentConfigs(adapter, host)
  const warnings = readings.flatMap((reading) => (reading.state === 'broken' ? [reading.error.message] : []))
  const servers = readings.flatMap((reading) =>
    reading.state === 'read' ? reading.config.servers.map((native) => ({ ...native, file: reading.file.path })) : [],
  )
  const written = servers.map(({ name, entry, file }) => ({ file, ...parseServerRule(name, entry) }))
  return {
    servers,
    rules: { servers: written.map(({ server }) => server), tools: [] },
    warnings: [
      ...warnings,
      ...written.flatMap(({ file, server, problems }) => formatProblems(file, server.name, problems)),
    ],
  }
}

const formatProblems = (file: string, server: string, keys: readonly string[]): readonly string[] =>
  keys.map((key) => `${file}: "${key}" of the server ${JSON.stringify(server)} has the wrong type and is ignored.`)

/** Reads a Sallyport home. Most do not mention isolation: then the YAML parser, the slowest part, is not loaded. */
async function readHomeRules(home: string): Promise<RulesResult> {
  const warnings: string[] = []
  const onlyIsolated = (bytes: Buffer): boolean => bytes.includes('isolated')
  const [config, tools] = await Promise.all([
    readConfig(home, { warnings, isRead: onlyIsolated }),
    readYamlFile(join(home, 'tools.yaml'), { warnings, isRead: onlyIsolated }),
  ])
  const written = Object.entries(getObjectMember(config, 'mcpServers') ?? {}).map(([name, entry]) =>
    parseServerRule(name, entry),
  )
  const problems = written.flatMap(({ server, problems }) =>
    formatProblems(join(home, 'config.yaml'), server.name, problems),
  )
  return {
    rules: { servers: written.map(({ server }) => server), tools: listToolRules(tools) },
    warnings: [...warnings, ...problems],
  }
}

/** The servers in our configuration, and the agent's name for our gateway, if the agent has it. */
export interface GatewayRoute {
  readonly name: string | undefined
  readonly servers: readonly string[]
  /** As written: how the gateway names tools. */
  readonly naming: Json | undefined
}

/** Called only before a refusal, because it reads our whole configuration. */
export async function findGatewayRoute(
  { nativeServers, homes }: IsolationSources,
  { adapter }: HookAgent,
): Promise<GatewayRoute> {
  const configs = await Promise.all(homes.map((home) => readConfig(home, { warnings: [], isRead: () => true })))
  const ports = configs
    .map((config) => getObjectMember(config, 'gateway')?.port)
    .filter((port) => typeof port === 'number')
  const isGateway = (native: NativeServer): boolean => {
    const server = adapter.toServer(native)
    return server.ok && [DEFAULT_SETTINGS.gateway.port, ...ports].some((port) => isOwnGateway(server.config, port))
  }
  return {
    name: nativeServers.find(isGateway)?.name,
    servers: configs.flatMap((config) => Object.keys(getObjectMember(config, 'mcpServers') ?? {})),
    naming: configs.map((config) => getObjectMember(config, 'gateway')?.naming).find((naming) => naming !== undefined),
  }
}

interface ReadOptions {
  readonly warnings: string[]
  readonly isRead: (bytes: Buffer) => boolean
}

async function readConfig(home: string, reading: ReadOptions): Promise<Json | undefined> {
  const yaml = await readYamlFile(join(home, 'config.yaml'), reading)
  return yaml ?? (await readYamlFile(join(home, 'config.json'), reading))
}

/** `undefined` if the file does not exist or need not be read. */
async function readYamlFile(file: string, { warnings, isRead }: ReadOptions): Promise<Json | undefined> {
  try {
    const bytes = await readHomeFile(file)
    if (bytes === undefined || !isRead(bytes)) return undefined
    const { parseYamlValue } = await import('../../config/config.ts')
    const read = parseYamlValue(bytes.toString('utf8'))
    if (read === undefined) warnings.push(`${file} cannot be parsed and is ignored.`)
    return read?.value
  } catch (error) {
    warnings.push(error instanceof Error ? error.message : `${file} cannot be read.`)
    return undefined
  }
}

function getObjectMember(value: Json | undefined, key: string): JsonObject | undefined {
  const found = isJsonObject(value) ? Object.entries(value).find(([name]) => toCamelCase(name) === key)?.[1] : undefined
  return isJsonObject(found) ? found : undefined
}

function listToolRules(file: Json | undefined): readonly ToolRule[] {
  return Object.entries(getObjectMember(file, 'tools') ?? {}).flatMap(([name, entry]) => {
    const isolated = isJsonObject(entry) ? entry.isolated : undefined
    if (typeof isolated === 'boolean') return [{ name, isolated }]
    // A mapping defines how the tool is isolated, so it is isolated.
    return isJsonObject(isolated) ? [{ name, isolated: true }] : []
  })
}
