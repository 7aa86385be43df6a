import { join } from 'node:path'
import { camelCase, isJsonObject, type Json, type JsonObject, SallyportError } from '@sallyport/core'
import { type AgentPlace, type NativeServer, readAgent } from '../../agents/agents.ts'
import { DEFAULT_SETTINGS, isOwnGateway, locateHome, readHomeFile } from '../../config/config.ts'
import type { CliContext } from '../cli-context.ts'
import type { HookAgent } from './hook-agent.ts'
import { type IsolationRules, readServer, type WrittenTool } from './isolation-rules.ts'

/** Everything that says which tools are isolated. */
export interface RulePlaces {
  /** Each counts by itself: none can take away what another one asks for. */
  readonly rules: readonly IsolationRules[]
  /** The servers that the agent has. */
  readonly own: readonly NativeServer[]
  /** The folders of our own configuration. */
  readonly homes: readonly string[]
  readonly warnings: readonly string[]
}

export interface PlaceWish {
  readonly home: string | undefined
  readonly place: AgentPlace
}

export async function readPlaces(agent: HookAgent, context: CliContext, wish: PlaceWish): Promise<RulePlaces> {
  const { homes, warnings } = homesOf(context, wish)
  const [native, ...ours] = await Promise.all([readOwn(agent, wish.place), ...homes.map(readRules)])
  const told = [native, ...ours]
  return {
    rules: told.map(({ rules }) => rules),
    own: native.servers,
    homes,
    warnings: [...warnings, ...told.flatMap((one) => one.warnings)],
  }
}

/** A home that came with a folder may be anybody's: it can add to what the user's own asks for, and take nothing away. */
function homesOf({ environment, cwd }: CliContext, { home }: PlaceWish): Pick<RulePlaces, 'homes' | 'warnings'> {
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

interface Told {
  readonly rules: IsolationRules
  readonly warnings: readonly string[]
}

/** The agent's files, the user's and the project's. One that is broken is told of, and spoils no other. */
async function readOwn(
  { adapter }: HookAgent,
  place: AgentPlace,
): Promise<Told & { readonly servers: readonly NativeServer[] }> {
  const readings = await readAgent(adapter, place)
  const warnings = readings.flatMap((reading) => (reading.state === 'broken' ? [reading.error.message] : []))
  const servers = readings.flatMap((reading) =>
    reading.state === 'read' ? reading.config.servers.map((native) => ({ ...native, file: reading.file.path })) : [],
  )
  const written = servers.map(({ name, entry, file }) => ({ file, ...readServer(name, entry) }))
  return {
    servers,
    rules: { servers: written.map(({ server }) => server), tools: [] },
    warnings: [...warnings, ...written.flatMap(({ file, server, flaws }) => flawTexts(file, server.name, flaws))],
  }
}

const flawTexts = (file: string, server: string, keys: readonly string[]): readonly string[] =>
  keys.map((key) => `${file}: "${key}" of the server ${JSON.stringify(server)} is not of its kind and does not count.`)

/** A home of ours. Most say nothing of isolation: then the YAML parser, which takes longest of all, is not loaded. */
async function readRules(home: string): Promise<Told> {
  const warnings: string[] = []
  const onlyIsolated = (bytes: Buffer): boolean => bytes.includes('isolated')
  const [config, tools] = await Promise.all([
    configOf(home, { warnings, isRead: onlyIsolated }),
    writtenIn(join(home, 'tools.yaml'), { warnings, isRead: onlyIsolated }),
  ])
  const written = Object.entries(memberOf(config, 'mcpServers') ?? {}).map(([name, entry]) => readServer(name, entry))
  const flaws = written.flatMap(({ server, flaws }) => flawTexts(join(home, 'config.yaml'), server.name, flaws))
  return {
    rules: { servers: written.map(({ server }) => server), tools: toolsIn(tools) },
    warnings: [...warnings, ...flaws],
  }
}

/** What our own configuration has, and what the agent calls our gateway, where it has it. */
export interface GatewayWay {
  readonly name: string | undefined
  readonly servers: readonly string[]
}

/** Asked only when a call is to be refused: this reads the whole of our configuration. */
export async function gatewayWay({ own, homes }: RulePlaces, { adapter }: HookAgent): Promise<GatewayWay> {
  const configs = await Promise.all(homes.map((home) => configOf(home, { warnings: [], isRead: () => true })))
  const ports = configs.map((config) => memberOf(config, 'gateway')?.port).filter((port) => typeof port === 'number')
  const isGateway = (native: NativeServer): boolean => {
    const server = adapter.toServer(native)
    return server.ok && [DEFAULT_SETTINGS.gateway.port, ...ports].some((port) => isOwnGateway(server.config, port))
  }
  return {
    name: own.find(isGateway)?.name,
    servers: configs.flatMap((config) => Object.keys(memberOf(config, 'mcpServers') ?? {})),
  }
}

interface Reading {
  readonly warnings: string[]
  readonly isRead: (bytes: Buffer) => boolean
}

async function configOf(home: string, reading: Reading): Promise<Json | undefined> {
  const yaml = await writtenIn(join(home, 'config.yaml'), reading)
  return yaml ?? (await writtenIn(join(home, 'config.json'), reading))
}

/** Undefined where the file is not there, or need not be read. */
async function writtenIn(file: string, { warnings, isRead }: Reading): Promise<Json | undefined> {
  try {
    const bytes = await readHomeFile(file)
    if (bytes === undefined || !isRead(bytes)) return undefined
    const { valueIn } = await import('./yaml-value.ts')
    const read = valueIn(bytes.toString('utf8'))
    if (read === undefined) warnings.push(`${file} cannot be understood and does not count.`)
    return read?.value
  } catch (error) {
    warnings.push(error instanceof Error ? error.message : `${file} cannot be read.`)
    return undefined
  }
}

function memberOf(value: Json | undefined, key: string): JsonObject | undefined {
  const found = isJsonObject(value) ? Object.entries(value).find(([name]) => camelCase(name) === key)?.[1] : undefined
  return isJsonObject(found) ? found : undefined
}

function toolsIn(file: Json | undefined): readonly WrittenTool[] {
  return Object.entries(memberOf(file, 'tools') ?? {}).flatMap(([name, entry]) => {
    const isolated = isJsonObject(entry) ? entry.isolated : undefined
    if (typeof isolated === 'boolean') return [{ name, isolated }]
    // A mapping says how, and so that it is.
    return isJsonObject(isolated) ? [{ name, isolated: true }] : []
  })
}
