import { didYouMean, isJsonObject, type Json, type JsonObject, SallyportError, toCamelCase } from '@sallyport/core'
import { type ConfigLocation, readConfigFile } from './config-file.ts'
import { type ConfigTree, parseConfig } from './config-tree.ts'
import { EntryReader } from './entry-reader.ts'
import { CLIENT_KEYS, type KnownKeys, SERVER_KEYS, UPSTREAM_KEYS } from './known-keys.ts'
import { readVariables } from './variables.ts'

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
