import { join } from 'node:path'
import { isJsonObject, type Json, type JsonObject, SallyportError, toCamelCase } from '@sallyport/core'
import { type HostContext, type NativeServer, readAgentConfigs } from '../../agents/agents.ts'
import { DEFAULT_SETTINGS, isOwnGateway, locateHome, readHomeFile } from '../../config/config.ts'
import type { CliContext } from '../cli-context.ts'
import type { HookAgent } from './hook-agent.ts'
import { type IsolationRules, parseServerRule, type ToolRule } from './isolation-rules.ts'

/** Everything that says which tools are isolated. */
export interface IsolationSources {
  /** Each counts by itself: none can take away what another one asks for. */
  readonly rules: readonly IsolationRules[]
  /** The servers that the agent has. */
  readonly nativeServers: readonly NativeServer[]
  /** The folders of our own configuration. */
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
  wish: SourceOptions,
): Promise<IsolationSources> {
  const { homes, warnings } = locateHomes(context, wish)
  const [native, ...ours] = await Promise.all([readNativeRules(agent, wish.host), ...homes.map(readHomeRules)])
  const told = [native, ...ours]
  return {
    rules: told.map(({ rules }) => rules),
    nativeServers: native.servers,
    homes,
    warnings: [...warnings, ...told.flatMap((one) => one.warnings)],
  }
}

/** A home that came with a folder may be anybody's: it can add to what the user's own asks for, and take nothing away. */
function locateHomes(
  { environment, cwd }: CliContext,
  { home }: SourceOptions,
): Pick<IsolationSources, 'homes' | 'warnings'> {
  try {
    const found = locateHome({ flag: home, environment, cwd })
    const own = found.origin === 'project' ? [locateHome({ flag: undefined, environment, cwd: '/' }).path] : []
    return { homes: [found.path, ...own], warnings: [] }
  } catch (error) {
    // What the agent's own files say still counts.
    if (!(error instanceof SallyportError)) throw error
    return { homes: [], warnings: [error.message] }
  }
}

interface RulesResult {
  readonly rules: IsolationRules
  readonly warnings: readonly string[]
}

/** The agent's files, the user's and the project's. One that is broken is told of, and spoils no other. */
async function readNativeRules(
  { adapter }: HookAgent,
  place: HostContext,
): Promise<RulesResult & { readonly servers: readonly NativeServer[] }> {
  const readings = await readAgentConfigs(adapter, place)
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
  keys.map((key) => `${file}: "${key}" of the server ${JSON.stringify(server)} is not of its kind and does not count.`)

/** A home of ours. Most say nothing of isolation: then the YAML parser, which takes longest of all, is not loaded. */
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
  const flaws = written.flatMap(({ server, problems }) =>
    formatProblems(join(home, 'config.yaml'), server.name, problems),
  )
  return {
    rules: { servers: written.map(({ server }) => server), tools: listToolRules(tools) },
    warnings: [...warnings, ...flaws],
  }
}

/** What our own configuration has, and what the agent calls our gateway, where it has it. */
export interface GatewayRoute {
  readonly name: string | undefined
  readonly servers: readonly string[]
}

/** Asked only when a call is to be refused: this reads the whole of our configuration. */
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

/** Undefined where the file is not there, or need not be read. */
async function readYamlFile(file: string, { warnings, isRead }: ReadOptions): Promise<Json | undefined> {
  try {
    const bytes = await readHomeFile(file)
    if (bytes === undefined || !isRead(bytes)) return undefined
    const { parseYamlValue } = await import('./yaml-value.ts')
    const read = parseYamlValue(bytes.toString('utf8'))
    if (read === undefined) warnings.push(`${file} cannot be understood and does not count.`)
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
    // A mapping says how, and so that it is.
    return isJsonObject(isolated) ? [{ name, isolated: true }] : []
  })
}
