import {
  buildDockerGatewayArguments,
  DOCKER_ENVIRONMENT,
  DOCKER_GATEWAY_COMMAND,
  isJsonObject,
  type Json,
  type JsonObject,
  parseDuration,
  SallyportError,
  type Sensitivity,
  splitShellWords,
} from '@sallyport/core'
import { type KitConfig, type KitConfigOptions, readKitConfig } from '../config/config.ts'
import type { FormAnswerer } from '../form.ts'
import type { Environment, Identity } from '../identity/identity.ts'
import type { McpServer } from '../mcp-server.ts'
import type { BearerToken, Endpoint, HttpTransport, ProcessEndpoint } from './endpoint.ts'
import type { EraChoice } from './link.ts'
import { McpClient } from './mcp-client.ts'
import { openRoute } from './route.ts'
import { SessionLabel, type SharedLabel } from './session-label.ts'

/** The behavior of the client, and the file that names the server. */
export interface NamedClientOptions extends ClientOptions, KitConfigOptions {}

/** Opens a client for a server that config.yaml names. Options in code override those of the file. */
export async function getMcpClient(name: string, options: NamedClientOptions = {}): Promise<McpClient> {
  // biome-ignore lint/style/noProcessEnv: as with readKitConfig, the default is the environment of the program.
  const { environment = process.env } = options
  const { target, options: written } = readClientEntry(await readKitConfig(name, options), environment)
  return createMcpClient({ ...written, ...options, ...target })
}

/** The parts of an entry that a client needs. */
interface ClientEntry {
  readonly target: ClientTarget
  readonly options: { readonly timeoutMs?: number; readonly era?: EraChoice }
}

const ERAS = ['auto', 'legacy', 'modern']

/** Reads an entry of `type: client`, or an upstream of the gateway. */
function readClientEntry({ file, name, kind, settings }: KitConfig, environment: Environment): ClientEntry {
  const where = `${file}: mcp_servers.${name}`
  const { era } = settings
  if (kind === 'server') throw invalidEntry(`${where} is of type "server", which a client cannot open`)
  if (era !== undefined && !ERAS.includes(String(era)))
    throw invalidEntry(`${where}.era must be one of ${ERAS.join(', ')}`)
  const timeoutMs = readTimeout(settings, where)
  return {
    target:
      settings.type === 'docker-gateway' ? readDockerTarget(settings, where, environment) : readTarget(settings, where),
    options: { ...(timeoutMs !== undefined && { timeoutMs }), ...(era !== undefined && { era: era as EraChoice }) },
  }
}

function readTarget(settings: JsonObject, where: string): ClientTarget {
  const { command, cwd, urlIsolated } = settings
  const url = settings.url ?? settings.httpUrl
  if (url !== undefined)
    return {
      url: readString(url, `${where}.url`),
      headers: readStringMap(settings.headers, `${where}.headers`),
      ...(settings.type === 'sse' && { transport: 'sse' as const }),
      ...(urlIsolated !== undefined && { urlIsolated: readString(urlIsolated, `${where}.url_isolated`) }),
    }
  if (command === undefined) throw invalidEntry(`${where} has neither a url nor a command`)
  // Whoever wrote it relies on it, but a process has no second instance.
  if (urlIsolated !== undefined) throw invalidEntry(`${where} has a url_isolated, but no url`)
  return {
    command: readString(command, `${where}.command`),
    args: readStringList(settings.args, `${where}.args`),
    env: readStringMap(settings.env ?? settings.environment, `${where}.env`),
    ...(cwd !== undefined && { cwd: readString(cwd, `${where}.cwd`) }),
  }
}

/** The keys for a call's timeout, and the unit of a bare number. */
const TIMEOUT_KEYS = {
  readTimeout: 's',
  timeoutSeconds: 's',
  toolTimeoutSec: 's',
  toolTimeoutMs: 'ms',
  timeout: 'ms',
} as const

function readTimeout(settings: JsonObject, where: string): number | undefined {
  const call = isJsonObject(settings.timeouts) ? settings.timeouts.call : undefined
  const written = Object.entries(TIMEOUT_KEYS).find(([key]) => settings[key] !== undefined)
  if (call === undefined && written === undefined) return undefined
  const [key, unit] = written ?? ['timeouts.call', 's']
  const ms = parseDuration(call ?? settings[key], call === undefined ? unit : 's')
  if (ms === undefined || ms <= 0) throw invalidEntry(`${where}: the timeout of calls is not a valid duration above 0`)
  return Math.ceil(ms)
}

/** The Docker MCP Gateway as a child process. Port settings of its entry are for the gateway and are ignored here. */
function readDockerTarget(settings: JsonObject, where: string, environment: Environment): ProcessEndpoint {
  const text = (key: string) => optional(settings[key], (value) => readString(value, `${where}.${key}`))
  const list = (key: string) => optional(settings[key], (value) => readStringList(value, `${where}.${key}`))
  const flag = (key: string) => optional(settings[key], (value) => readBoolean(value, `${where}.${key}`))
  const [command = '', ...commandArgs] = readCommand(settings.command, where)
  const cpus = text('cpus')
  const args = buildDockerGatewayArguments({
    servers: list('enabledServers') ?? list('servers') ?? [],
    profile: text('profile'),
    catalogs: list('catalogs'),
    secrets: text('secrets'),
    tools: list('tools'),
    interceptors: list('interceptors'),
    cpus: cpus === undefined ? undefined : Number(cpus),
    memory: text('memory'),
    blockNetwork: flag('blockNetwork'),
    blockSecrets: flag('blockSecrets'),
    verifySignatures: flag('verifySignatures'),
    longLived: flag('longLived'),
    static: flag('static'),
    extraArgs: list('extraArgs'),
  })
  const cwd = text('cwd')
  return {
    command,
    args: [...commandArgs, ...readStringList(settings.args, `${where}.args`), ...args],
    env: { ...pickEnvironment(environment), ...readStringMap(settings.env ?? settings.environment, `${where}.env`) },
    ...(cwd !== undefined && { cwd }),
  }
}

const optional = <Value>(value: Json | undefined, read: (value: Json) => Value): Value | undefined =>
  value === undefined ? undefined : read(value)

function readCommand(command: Json | undefined, where: string): readonly string[] {
  if (command === undefined) return DOCKER_GATEWAY_COMMAND
  const parts = typeof command === 'string' ? splitShellWords(command) : readStringList(command, `${where}.command`)
  if (parts?.[0] !== undefined && parts[0] !== '') return parts
  throw invalidEntry(`${where}.command is empty or has an unclosed quote`)
}

function pickEnvironment(environment: Environment): Readonly<Record<string, string>> {
  const found = DOCKER_ENVIRONMENT.map((name) => [name, environment[name]] as const)
  return Object.fromEntries(found.filter((pair): pair is [string, string] => pair[1] !== undefined))
}

function readStringMap(value: Json | undefined, where: string): Readonly<Record<string, string>> {
  if (value === undefined) return {}
  if (!isJsonObject(value)) throw invalidEntry(`${where} must be a mapping`)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, readString(item, `${where}.${key}`)]))
}

function readStringList(value: Json | undefined, where: string): readonly string[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw invalidEntry(`${where} must be a list`)
  return value.map((item: Json, index) => readString(item, `${where}[${index}]`))
}

function readString(value: Json | undefined, where: string): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw invalidEntry(`${where} must be a string`)
}

function readBoolean(value: Json, where: string): boolean {
  if (value === true || value === 'true') return true
  if (value === false || value === 'false') return false
  throw invalidEntry(`${where} must be true or false`)
}

const invalidEntry = (message: string): SallyportError =>
  new SallyportError('CONFIG_INVALID', `${message}.`, { hint: 'See docs/kit/client.md for what a client reads.' })

/** The settings of a client, with their defaults. */
export interface ClientOptions {
  /** Sent as the Authorization header, to both instances. A function is called before every request. */
  readonly bearerToken?: BearerToken
  /** The session's label as other processes know it: a function, or a shared store. */
  readonly label?: SharedLabel | SharedLabel['read']
  /** From this sensitivity on, only the isolated instance is called. Default: CONFIDENTIAL. */
  readonly privateFrom?: Sensitivity
  /** How long a server may be silent. Default: a minute. */
  readonly timeoutMs?: number
  /** This many identical failures of a tool in a row are fatal. Default: 3. */
  readonly maxSameFailures?: number
  /** Default: detected over HTTP and in memory; `legacy` for processes, because some of them exit when they are probed. */
  readonly era?: EraChoice
  /** Answers the forms of servers. If missing, the client declares that it cannot be asked. */
  readonly onElicit?: FormAnswerer
  readonly clientInfo?: { readonly name: string; readonly version: string }
}

/** Where the server is: at a URL, behind a command, or in this process; with its isolated instance if it has one. */
export type ClientTarget =
  | {
      readonly url: string
      readonly urlIsolated?: string
      readonly headers?: Readonly<Record<string, string>>
      /** Default: Streamable HTTP. `sse` is the older transport. */
      readonly transport?: HttpTransport
    }
  | {
      readonly command: string
      readonly args?: readonly string[]
      readonly env?: Readonly<Record<string, string>>
      readonly cwd?: string
    }
  | { readonly server: McpServer; readonly serverIsolated?: McpServer; readonly identity?: Identity }

const DEFAULT_TIMEOUT_MS = 60_000
const DEFAULT_MAX_SAME_FAILURES = 3
const DEFAULT_CLIENT_INFO = { name: 'sallyport-kit', version: '0.1.0' }

/** Opens a strict client. With an isolated instance, the client opens both connections. */
export async function createMcpClient(options: ClientTarget & ClientOptions): Promise<McpClient> {
  const {
    timeoutMs = DEFAULT_TIMEOUT_MS,
    maxSameFailures = DEFAULT_MAX_SAME_FAILURES,
    clientInfo = DEFAULT_CLIENT_INFO,
    onElicit,
  } = options
  assertPositive('timeoutMs', timeoutMs)
  assertPositive('maxSameFailures', maxSameFailures)
  const { endpoint, isolated } = resolveEndpoints(options)
  const shared = typeof options.label === 'function' ? { read: options.label } : options.label
  const label = new SessionLabel({ shared, privateFrom: options.privateFrom, timeoutMs })
  const era = options.era ?? (isLegacyOnly(options) ? 'legacy' : 'auto')
  const route = await openRoute({ endpoint, isolated, label, link: { clientInfo, era, timeoutMs, onElicit } })
  return new McpClient({ route, label, maxSameFailures })
}

/** Some processes exit when they are probed, and only the legacy era ever used the SSE transport. */
const isLegacyOnly = (target: ClientTarget): boolean =>
  'command' in target || ('url' in target && target.transport === 'sse')

function resolveEndpoints(options: ClientTarget & ClientOptions): {
  readonly endpoint: Endpoint
  readonly isolated: Endpoint | undefined
} {
  const { bearerToken } = options
  if ('url' in options) {
    const { url, urlIsolated, headers = {}, transport } = options
    const rest = {
      headers,
      ...(transport !== undefined && { transport }),
      ...(bearerToken !== undefined && { bearerToken }),
    }
    assertHttpUrl('url', url)
    if (urlIsolated === undefined) return { endpoint: { url, ...rest }, isolated: undefined }
    assertHttpUrl('urlIsolated', urlIsolated)
    assertDistinct(new URL(url).href !== new URL(urlIsolated).href)
    return { endpoint: { url, ...rest }, isolated: { url: urlIsolated, ...rest } }
  }
  if (bearerToken !== undefined)
    throw new SallyportError('USAGE', 'A bearerToken was given for a server that does not use HTTP.', {
      hint: 'Pass credentials to a process in `env`.',
    })
  if ('command' in options) return { endpoint: options, isolated: undefined }
  const { server, serverIsolated, identity } = options
  assertDistinct(server !== serverIsolated)
  const rest = identity === undefined ? {} : { identity }
  return { endpoint: { server, ...rest }, isolated: serverIsolated && { server: serverIsolated, ...rest } }
}

function assertDistinct(isOther: boolean): void {
  if (isOther) return
  throw new SallyportError('USAGE', 'The isolated instance has the same address as the normal one.', {
    hint: 'Give the address of an instance that cannot reach the network, or leave it out.',
  })
}

function assertHttpUrl(name: string, url: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^https?:$/.test(parsed.protocol))
    throw new SallyportError('USAGE', `${name} is not an HTTP URL.`, { hint: 'Expected http://… or https://….' })
  if (parsed.username === '' && parsed.password === '') return
  throw new SallyportError('USAGE', `${name} contains credentials.`, { hint: 'Give a bearerToken, or a header.' })
}

function assertPositive(name: string, value: number): void {
  if (Number.isInteger(value) && value > 0) return
  throw new SallyportError('USAGE', `${name} is ${value}; expected a whole number above 0.`)
}

/** The methods of a label store that a client needs; `openLabelStore` returns such a store. */
interface MinimalLabelStore<Owner> {
  read(owner: Owner): Promise<{ readonly sensitivity: Sensitivity }>
  raise(owner: Owner, dataset: string, sensitivity: Sensitivity): Promise<unknown>
}

/** The label of one session in a store that several processes share. */
export const storedLabel = <Owner>(store: MinimalLabelStore<Owner>, owner: Owner): SharedLabel => ({
  read: async () => (await store.read(owner)).sensitivity,
  raise: (dataset, sensitivity) => store.raise(owner, dataset, sensitivity),
})
