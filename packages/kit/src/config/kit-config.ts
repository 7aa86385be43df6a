import { camelCase, didYouMean, isJsonObject, type Json, type JsonObject, SallyportError } from '@sallyport/core'
import { type ConfigPlace, readConfigFile } from './config-file.ts'
import { type ConfigTree, parseConfig } from './config-tree.ts'
import { EntryReader } from './entry-reader.ts'
import { CLIENT_KEYS, type Keys, SERVER_KEYS, UPSTREAM_KEYS } from './known-keys.ts'
import { readVariables } from './variables.ts'

/** Where the configuration is read from, and who is warned about it. */
export interface KitConfigOptions extends Partial<ConfigPlace> {
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

const KEYS: Readonly<Record<KitConfig['kind'], Keys>> = {
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
  if (!isJsonObject(entry)) throw invalid(file.path, [`${tree.placeOf(path)}: ${path.join('.')}: expected a mapping.`])
  const kind =
    reader.errors.length === 0 ? kindOf(entry.type, (problem) => reader.reject([...path, 'type'], problem)) : 'upstream'
  const settings = reader.respell(entry, KEYS[kind], path)
  if (reader.errors.length > 0) throw invalid(file.path, reader.errors)
  for (const warning of reader.warnings) onWarning(warning)
  return { file: file.path, name, kind, settings }
}

interface WrittenEntry {
  readonly section: string
  readonly written: Json
}

function findEntry({ value }: ConfigTree, file: string, name: string): WrittenEntry {
  const sections = isJsonObject(value) ? Object.keys(value).filter((key) => camelCase(key) === 'mcpServers') : []
  if (sections.length > 1) throw invalid(file, [`${file}: mcp_servers stands twice, in two spellings.`])
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

function kindOf(type: Json | undefined, reject: (problem: string) => void): KitConfig['kind'] {
  if (type === undefined || type === null) return 'upstream'
  if (typeof type !== 'string' || !TYPES.includes(type))
    reject(`expected one of ${TYPES.join(', ')}.${typeof type === 'string' ? didYouMean(type, TYPES) : ''}`)
  return type === 'server' || type === 'client' ? type : 'upstream'
}

function invalid(file: string, problems: readonly string[]): SallyportError {
  return new SallyportError('CONFIG_INVALID', problems.join('\n'), {
    hint: `Correct ${file}, or set what it refers to.`,
  })
}
