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
import type { Environment } from '../identity/identity.ts'

/** The keys of a mapping: `leaf` for a value, `names` where the keys inside are other people's, or keys of its own. */
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

/** A kit server's own settings. */
export const SERVER_KEYS: KnownKeys = {
  ...leafKeys('type', 'name', 'title', 'version', 'instructions', 'description'),
  ...leafKeys('host', 'port', 'path', 'allowedHosts', 'allowedOrigins', 'dev', 'dataFolder'),
  auth: { jwt: JWT_KEYS, resourceMetadata: 'leaf' },
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

/** What a kit client connects to. */
const CLIENT_KEYS: KnownKeys = CONNECTION_KEYS

/** A server behind the gateway: the gateway reads all of these, a client those that it needs to connect. */
const UPSTREAM_KEYS: KnownKeys = {
  ...CONNECTION_KEYS,
  ...leafKeys('enabled', 'disabled', 'includeTools', 'enabledTools', 'excludeTools', 'disabledTools', 'per'),
  ...leafKeys('clientApproval', 'detect', 'image', 'isolated', 'isolatedTools', 'mounts', 'network', 'sandbox'),
  ...leafKeys('sensitivePaths', 'sensitivity', 'allowUnsandboxed', 'driver', 'forwards', 'oauth', 'result', 'trust'),
  ...leafKeys('enabledServers', 'servers', 'catalogs', 'profile', 'tools', 'secrets', 'interceptors', 'extraArgs'),
  ...leafKeys('blockNetwork', 'blockSecrets', 'verifySignatures', 'longLived', 'static', 'cpus', 'memory'),
  ...leafKeys('transport', 'port'),
}

/** Where the configuration is read from, and who is warned about it. */
export interface KitConfigOptions extends Partial<ConfigLocation> {
  /** Told of each key that nobody reads. Absent: standard error. */
  readonly onWarning?: (warning: string) => void
}

/** One entry of `mcp_servers`: variables expanded, keys in camelCase, values not judged yet. */
export interface KitConfig {
  readonly file: string
  readonly name: string
  /** A kit server's own settings, what a kit client connects to, or a server behind the gateway. */
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
  // biome-ignore lint/style/noProcessEnv: whoever calls this from a program's first lines means that program's own.
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
  if (sections.length > 1) throw invalidConfig(file, [`${file}: mcp_servers stands twice, in two spellings.`])
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
    hint: `Correct ${file}, or set what it refers to.`,
  })
}

/** Reads one entry of a file and gathers what is wrong with it. No message holds a value. */
class EntryReader {
  readonly errors: string[] = []
  readonly warnings: string[] = []
  readonly #tree: ConfigTree
  readonly #lookup: VariableLookup

  constructor(tree: ConfigTree, lookup: VariableLookup) {
    this.#tree = tree
    this.#lookup = lookup
  }

  /** Every text with its variables, lists and nested mappings too. */
  expand(value: Json, path: ConfigPath): Json {
    if (isJsonList(value)) return value.map((item, index) => this.expand(item, [...path, index]))
    if (isJsonObject(value)) return mapObject(value, (key, item) => [key, this.expand(item, [...path, key])])
    if (typeof value !== 'string') return value
    const expansion = expandVars(value, this.#lookup)
    if (expansion.ok) return expansion.value
    for (const { message } of expansion.issues) this.reject(path, `${message}.`)
    return null
  }

  /** One spelling for every key, camelCase; unknown ones are told and left out, and keys without a value say nothing. */
  normalizeKeys(value: JsonObject, keys: KnownKeys, path: ConfigPath): JsonObject {
    const read = new Map<string, Json>()
    for (const [written, item] of Object.entries(value)) {
      const key = toCamelCase(written)
      const known = Object.hasOwn(keys, key) ? keys[key] : undefined
      const at = [...path, written]
      if (known === undefined) this.#warn(at, `this key is not known and is ignored.${suggestKey(written, keys)}`)
      else if (read.has(key)) this.reject(at, 'this key stands twice, in two spellings. Keep one of them.')
      else if (item !== null && item !== undefined) read.set(key, this.#readMember(item, known, at))
    }
    return Object.fromEntries(read)
  }

  #readMember(item: Json, known: KnownKeys[string], path: ConfigPath): Json {
    if (known === 'leaf') return item
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
 * What `${NAME}` stands for: the environment, then `.env` beside the configuration. Not that of the working folder,
 * which may be a repository of somebody else, who must not decide where an operator's token goes. That file is read for
 * references alone: it never replaces a variable that is set, and nothing of it gets into the environment that children
 * inherit.
 */
async function readVariables(configFile: string, environment: Environment): Promise<VariableLookup> {
  const extra = await readDotEnv(join(dirname(configFile), '.env'))
  return (name) => ownValue(environment, name) ?? ownValue(extra, name)
}

type Variables = Readonly<Record<string, string | undefined>>

async function readDotEnv(path: string): Promise<Variables> {
  const found = await stat(path).catch(() => undefined)
  // Python calls a folder so.
  if (found?.isDirectory()) return {}
  const text = await readTextFile(path)
  return text === undefined ? {} : parseEnv(text.replace(/^\uFEFF/, ''))
}

/** Never something that objects have anyway (`constructor`). */
const ownValue = (from: Variables, name: string): string | undefined =>
  Object.hasOwn(from, name) ? from[name] : undefined

type ConfigPath = readonly (string | number)[]

interface ConfigTree {
  readonly value: Json
  /** `config.yaml:12`, for messages. */
  locate(path: ConfigPath): string
}

/** YAML 1.2 or JSON. What the parser says may quote the file, and so a secret: only the line is passed on. */
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

/** The composer recurses and aliases multiply: what is too deep or too much throws. */
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

/** The line of the value, or of the nearest one around it. */
function locateKey({ document, lineCounter, path }: ConfigDocument, key: ConfigPath): string {
  for (let length = key.length; length > 0; length--) {
    const node: unknown = document.getIn(key.slice(0, length), true)
    const range = (node as { readonly range?: readonly number[] } | undefined)?.range
    if (range?.[0] !== undefined) return `${path}:${lineCounter.linePos(range[0]).line}`
  }
  return path
}

const invalidYaml = (place: string): SallyportError =>
  new SallyportError('CONFIG_INVALID', `${place} is not valid YAML, or nested too deeply.`, {
    hint: 'Look for a missing quote, bracket, ":" or space there, a tab as indentation, or a key that stands twice.',
  })

interface ConfigLocation {
  /** A config.yaml or config.json. Absent: it is looked for. */
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

/** The named file; else that of `$SALLYPORT_HOME`; else the first one that is there, from the nearest folder on. */
async function readConfigFile(place: ConfigLocation): Promise<ConfigFile> {
  const candidates = listCandidates(place)
  for (const path of candidates) {
    const text = await readTextFile(path)
    if (text !== undefined) return { path, text }
  }
  throw new SallyportError('CONFIG_INVALID', `There is no configuration: looked for ${candidates.join(', ')}.`, {
    hint: 'Make one of them, or name another with configPath.',
  })
}

/** Whoever names a place means it: another file in its stead would puzzle more than an error. */
function listCandidates({ configPath, environment, cwd }: ConfigLocation): readonly string[] {
  if (configPath !== undefined) return [resolve(cwd, configPath)]
  const { SALLYPORT_HOME: home, XDG_CONFIG_HOME: xdg } = environment
  const folders =
    home !== undefined && home !== ''
      ? [home]
      : ['.', '.sallyport', join(xdg?.startsWith('/') ? xdg : join(homedir(), '.config'), 'sallyport')]
  return folders.flatMap((folder) => CONFIG_NAMES.map((name) => resolve(cwd, folder, name)))
}

/** Nothing where there is no such file. A FIFO is not opened: it would wait for ever. */
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
  throw new SallyportError('CONFIG_INVALID', `${path} is no regular file, or larger than 4 MB.`, { hint })
}
