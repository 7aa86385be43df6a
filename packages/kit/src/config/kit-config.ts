import { readFile, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { parseEnv } from 'node:util'
import {
  didYouMean,
  expandVars,
  findClosest,
  isJsonList,
  isJsonObject,
  type Json,
  type JsonObject,
  SallyportError,
  toCamelCase,
  toSnakeCase,
} from '@sallyport/core'
import type { Document, LineCounter } from 'yaml'
import { CALLER_KEYS_VARIABLE, type Environment, SERVER_ID_VARIABLE } from '../identity/identity.ts'

/** The known keys of a mapping. `leaf`: a value. `names`: a mapping with arbitrary keys. Otherwise its known keys. */
interface KnownKeys {
  readonly [key: string]: 'leaf' | 'names' | KnownKeys
}

const leafKeys = (...keys: readonly string[]): KnownKeys => Object.fromEntries(keys.map((key) => [key, 'leaf']))

const JWT_KEYS = leafKeys(
  'secret',
  'jwksUri',
  'publicKey',
  'algorithms',
  'issuers',
  'audience',
  'clockTolerance',
  'maxAge',
)

/** Instead of these settings, `true` can be given. */
const GATEWAY_KEYS = leafKeys('keys', 'jwksUri', 'audience', 'secret')

/** A kit server's own settings. */
export const SERVER_KEYS: KnownKeys = {
  ...leafKeys('type', 'name', 'title', 'version', 'instructions', 'description'),
  ...leafKeys('host', 'port', 'path', 'allowedHosts', 'allowedOrigins', 'dev', 'dataFolder'),
  auth: { jwt: JWT_KEYS, gateway: GATEWAY_KEYS, resourceMetadata: 'leaf' },
}

const CONNECTION_KEYS: KnownKeys = {
  ...leafKeys('type', 'title', 'description', 'url', 'httpUrl', 'urlIsolated', 'command', 'args', 'cwd', 'era'),
  ...leafKeys('timeout', 'readTimeout', 'timeoutSeconds', 'toolTimeoutSec', 'toolTimeoutMs', 'trusted'),
  ...leafKeys('startupTimeout', 'startupTimeoutSec', 'startupTimeoutMs', 'idle', 'maxMessage'),
  timeouts: leafKeys('startup', 'call', 'max', 'idle'),
  env: 'names',
  environment: 'names',
  headers: 'names',
}

/** The connection settings of a kit client. */
const CLIENT_KEYS: KnownKeys = CONNECTION_KEYS

/** A server behind the gateway. The gateway reads all of these; a client reads those that it needs to connect. */
const UPSTREAM_KEYS: KnownKeys = {
  ...CONNECTION_KEYS,
  ...leafKeys('enabled', 'disabled', 'includeTools', 'enabledTools', 'excludeTools', 'disabledTools', 'per'),
  ...leafKeys(
    'clientApproval',
    'detect',
    'identity',
    'image',
    'isolated',
    'isolatedTools',
    'mounts',
    'network',
    'sandbox',
  ),
  ...leafKeys(
    'sensitivePaths',
    'sensitivity',
    'allowUnsandboxed',
    'driver',
    'forwards',
    'limits',
    'oauth',
    'result',
    'trust',
  ),
  ...leafKeys('enabledServers', 'servers', 'catalogs', 'profile', 'tools', 'secrets', 'interceptors', 'extraArgs'),
  ...leafKeys('blockNetwork', 'blockSecrets', 'verifySignatures', 'longLived', 'static', 'cpus', 'memory'),
  ...leafKeys('transport', 'port'),
}

/** Where the configuration is read from, and who receives warnings about it. */
export interface KitConfigOptions extends Partial<ConfigLocation> {
  /** Called for each unknown key. Default: prints to standard error. */
  readonly onWarning?: (warning: string) => void
}

/** One entry of `mcp_servers`: variables expanded, keys in camelCase, values not checked yet. */
export interface KitConfig {
  readonly file: string
  readonly name: string
  /** The settings of a kit server, the connection of a kit client, or a server behind the gateway. */
  readonly kind: 'server' | 'client' | 'upstream'
  readonly settings: JsonObject
}

const KEYS: Readonly<Record<KitConfig['kind'], KnownKeys>> = {
  server: SERVER_KEYS,
  client: CLIENT_KEYS,
  upstream: UPSTREAM_KEYS,
}

const TRANSPORTS = ['stdio', 'local', 'http', 'streamable-http', 'streamableHttp', 'remote', 'sse', 'docker-gateway']
const TYPES = ['server', 'client', ...TRANSPORTS]

/** Reads `mcp_servers.<name>` of config.yaml. */
export async function readKitConfig(name: string, options: KitConfigOptions = {}): Promise<KitConfig> {
  // biome-ignore lint/style/noProcessEnv: the default is the environment of the program that calls this.
  const { environment = process.env, cwd = process.cwd(), configPath, onWarning = console.error } = options
  const place = { environment, cwd, configPath }
  const file = await readConfigFile(place)
  const tree = await parseConfig(file)
  const reader = new EntryReader(tree, await readVariables(file.path, environment))
  const { section, written } = findEntry(tree, file.path, name)
  const path = [section, name]
  const entry = reader.expand(written, path)
  if (!isJsonObject(entry))
    throw invalidConfig(file.path, [`${tree.locate(path)}: ${path.join('.')}: expected a mapping.`])
  const kind =
    reader.errors.length === 0
      ? resolveKind(entry.type, (problem) => reader.reject([...path, 'type'], problem))
      : 'upstream'
  const settings = reader.normalizeKeys(entry, KEYS[kind], path)
  if (reader.errors.length > 0) throw invalidConfig(file.path, reader.errors)
  for (const warning of reader.warnings) onWarning(warning)
  return { file: file.path, name, kind, settings }
}

interface RawEntry {
  readonly section: string
  readonly written: Json
}

function findEntry({ value }: ConfigTree, file: string, name: string): RawEntry {
  const sections = isJsonObject(value) ? Object.keys(value).filter((key) => toCamelCase(key) === 'mcpServers') : []
  if (sections.length > 1) throw invalidConfig(file, [`${file}: mcp_servers is there twice, in two spellings.`])
  const [section = 'mcp_servers'] = sections
  const written = isJsonObject(value) ? value[section] : undefined
  const servers: JsonObject = isJsonObject(written) ? written : {}
  const entry = Object.hasOwn(servers, name) ? servers[name] : undefined
  if (entry !== undefined) return { section, written: entry }
  const names = Object.keys(servers)
  const known = names.length === 0 ? 'It has none.' : `It has: ${names.join(', ')}.`
  throw new SallyportError(
    'SERVER_UNKNOWN',
    `There is no server "${name}" in ${file}.${didYouMean(name, names)} ${known}`,
    {
      hint: `Add mcp_servers.${name}, or correct the name.`,
    },
  )
}

function resolveKind(type: Json | undefined, reject: (problem: string) => void): KitConfig['kind'] {
  if (type === undefined || type === null) return 'upstream'
  if (typeof type !== 'string' || !TYPES.includes(type))
    reject(`expected one of ${TYPES.join(', ')}.${typeof type === 'string' ? didYouMean(type, TYPES) : ''}`)
  return type === 'server' || type === 'client' ? type : 'upstream'
}

function invalidConfig(file: string, problems: readonly string[]): SallyportError {
  return new SallyportError('CONFIG_INVALID', problems.join('\n'), {
    hint: `Correct ${file}, or set the variables that it refers to.`,
  })
}

/** Reads one entry of a file and collects its problems. No message contains a value. */
class EntryReader {
  readonly errors: string[] = []
  readonly warnings: string[] = []
  readonly #tree: ConfigTree
  readonly #lookup: VariableLookup

  constructor(tree: ConfigTree, lookup: VariableLookup) {
    this.#tree = tree
    this.#lookup = lookup
  }

  /** Expands the variables in every string, also in lists and nested mappings. */
  expand(value: Json, path: ConfigPath): Json {
    if (isJsonList(value)) return value.map((item, index) => this.expand(item, [...path, index]))
    if (isJsonObject(value)) return mapObject(value, (key, item) => [key, this.expand(item, [...path, key])])
    if (typeof value !== 'string') return value
    const expansion = expandVars(value, this.#lookup)
    if (expansion.ok) return expansion.value
    for (const { message } of expansion.issues) this.reject(path, `${message}.`)
    return null
  }

  /** Converts keys to camelCase. Unknown keys are reported and left out; keys without a value are left out. */
  normalizeKeys(value: JsonObject, keys: KnownKeys, path: ConfigPath): JsonObject {
    const read = new Map<string, Json>()
    for (const [written, item] of Object.entries(value)) {
      const key = toCamelCase(written)
      const known = Object.hasOwn(keys, key) ? keys[key] : undefined
      const at = [...path, written]
      if (known === undefined) this.#warn(at, `this key is not known and is ignored.${suggestKey(written, keys)}`)
      else if (read.has(key)) this.reject(at, 'this key is there twice, in two spellings. Keep one of them.')
      else if (item !== null && item !== undefined) read.set(key, this.#readMember(item, known, at))
    }
    return Object.fromEntries(read)
  }

  #readMember(item: Json, known: KnownKeys[string], path: ConfigPath): Json {
    if (known === 'leaf' || (known === GATEWAY_KEYS && item === true)) return item
    if (!isJsonObject(item)) {
      this.reject(path, 'expected a mapping.')
      return {}
    }
    return known === 'names' ? item : this.normalizeKeys(item, known, path)
  }

  reject(path: ConfigPath, problem: string): void {
    this.errors.push(this.#formatProblem(path, problem))
  }

  #warn(path: ConfigPath, problem: string): void {
    this.warnings.push(this.#formatProblem(path, problem))
  }

  #formatProblem(path: ConfigPath, problem: string): string {
    return `${this.#tree.locate(path)}: ${path.join('.')}: ${problem}`
  }
}

const mapObject = (value: JsonObject, change: (key: string, item: Json) => readonly [string, Json]): JsonObject =>
  Object.fromEntries(Object.entries(value).map(([key, item]) => change(key, item ?? null)))

function suggestKey(written: string, keys: KnownKeys): string {
  const best = findClosest(written, Object.keys(keys))
  if (best === undefined) return ''
  return ` Did you mean "${/[A-Z]/.test(written) ? best : toSnakeCase(best)}"?`
}

type VariableLookup = (name: string) => string | undefined

/**
 * The value of `${NAME}`: from the environment, then from `.env` beside the configuration. The `.env` of the working
 * folder is ignored: it may be somebody else's repository, which must not decide where an operator's token goes. `.env`
 * is read for references only: it never replaces a variable that is set, and child processes do not inherit it.
 */
async function readVariables(configFile: string, environment: Environment): Promise<VariableLookup> {
  const extra = await readDotEnv(join(dirname(configFile), '.env'))
  return (name) => ownValue(environment, name) ?? (START_VARIABLES.includes(name) ? undefined : ownValue(extra, name))
}

/** They say whose tokens prove who calls, so only whoever starts the process may set them. */
const START_VARIABLES: readonly string[] = [CALLER_KEYS_VARIABLE, SERVER_ID_VARIABLE]

type Variables = Readonly<Record<string, string | undefined>>

async function readDotEnv(path: string): Promise<Variables> {
  const found = await stat(path).catch(() => undefined)
  // Python projects often have a folder of this name.
  if (found?.isDirectory()) return {}
  const text = await readTextFile(path)
  return text === undefined ? {} : parseEnv(text.replace(/^\uFEFF/, ''))
}

/** Ignores inherited members such as `constructor`. */
const ownValue = (from: Variables, name: string): string | undefined =>
  Object.hasOwn(from, name) ? from[name] : undefined

type ConfigPath = readonly (string | number)[]

interface ConfigTree {
  readonly value: Json
  /** `config.yaml:12`, for messages. */
  locate(path: ConfigPath): string
}

/** Parses YAML 1.2 or JSON. The parser's message may quote a secret, so only the line number is reported. */
async function parseConfig({ path, text }: ConfigFile): Promise<ConfigTree> {
  const { LineCounter, parseDocument } = await import('yaml')
  const lineCounter = new LineCounter()
  const document = tryOrUndefined(() =>
    parseDocument(text, { version: '1.2', schema: 'core', prettyErrors: false, logLevel: 'error', lineCounter }),
  )
  const problem = document?.errors[0]
  if (document === undefined || problem !== undefined) {
    const line = problem === undefined ? '' : `:${lineCounter.linePos(problem.pos[0]).line}`
    throw invalidYaml(`${path}${line}`)
  }
  const value = tryOrUndefined(() => (document.toJS({ maxAliasCount: 100 }) ?? null) as Json)
  if (value === undefined) throw invalidYaml(path)
  return { value, locate: (key) => locateKey({ document, lineCounter, path }, key) }
}

/** The composer recurses and aliases multiply, so values that are too deep or too large throw. */
function tryOrUndefined<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}

interface ConfigDocument {
  readonly document: Document.Parsed
  readonly lineCounter: LineCounter
  readonly path: string
}

/** The line of the value, or of the nearest value that contains it. */
function locateKey({ document, lineCounter, path }: ConfigDocument, key: ConfigPath): string {
  for (let length = key.length; length > 0; length--) {
    const node: unknown = document.getIn(key.slice(0, length), true)
    const range = (node as { readonly range?: readonly number[] } | undefined)?.range
    if (range?.[0] !== undefined) return `${path}:${lineCounter.linePos(range[0]).line}`
  }
  return path
}

const invalidYaml = (location: string): SallyportError =>
  new SallyportError('CONFIG_INVALID', `${location} is not valid YAML, or nested too deeply.`, {
    hint: 'Look for a missing quote, bracket, ":" or space there, a tab as indentation, or a duplicate key.',
  })

interface ConfigLocation {
  /** A config.yaml or config.json. If missing, the usual folders are searched. */
  readonly configPath?: string | undefined
  readonly environment: Environment
  readonly cwd: string
}

interface ConfigFile {
  readonly path: string
  readonly text: string
}

const CONFIG_NAMES = ['config.yaml', 'config.json']
const MAX_BYTES = 4 * 1024 * 1024

/** Reads the named file, otherwise that of `$SALLYPORT_HOME`, otherwise the first that exists, nearest folder first. */
async function readConfigFile(location: ConfigLocation): Promise<ConfigFile> {
  const candidates = listCandidates(location)
  for (const path of candidates) {
    const text = await readTextFile(path)
    if (text !== undefined) return { path, text }
  }
  throw new SallyportError('CONFIG_INVALID', `No configuration found: looked for ${candidates.join(', ')}.`, {
    hint: 'Create one of them, or name another with configPath.',
  })
}

/** A named location is the only candidate: falling back to another file would be more confusing than an error. */
function listCandidates({ configPath, environment, cwd }: ConfigLocation): readonly string[] {
  if (configPath !== undefined) return [resolve(cwd, configPath)]
  const { SALLYPORT_HOME: home, XDG_CONFIG_HOME: xdg } = environment
  const folders =
    home !== undefined && home !== ''
      ? [home]
      : ['.', '.sallyport', join(xdg?.startsWith('/') ? xdg : join(homedir(), '.config'), 'sallyport')]
  return folders.flatMap((folder) => CONFIG_NAMES.map((name) => resolve(cwd, folder, name)))
}

/** `undefined` if there is no such file. A FIFO is not opened: that would wait forever. */
async function readTextFile(path: string): Promise<string | undefined> {
  const hint = 'Give a regular file of at most 4 MB that this program may read.'
  try {
    const found = await stat(path)
    if (found.isFile() && found.size <= MAX_BYTES) return await readFile(path, 'utf8')
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new SallyportError('CONFIG_INVALID', `${path} cannot be read (${code}).`, { hint, cause })
  }
  throw new SallyportError('CONFIG_INVALID', `${path} is not a regular file, or is larger than 4 MB.`, { hint })
}
