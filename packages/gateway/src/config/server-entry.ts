import { join, resolve } from 'node:path'
import type { ServerEntry } from './config-schema.ts'
import { DEFAULT_MAX_MESSAGE_BYTES } from './defaults.ts'
import type { IssueLog } from './issue-log.ts'
import type { Spot } from './normalise.ts'
import { readHeaders, readUrl } from './server-address.ts'
import { readTimeouts } from './server-timeouts.ts'
import type { HttpServerConfig, Place, ServerConfig, StdioServerConfig } from './settings.ts'

export interface EntrySource {
  readonly id: string
  /** The name it stands under, where that is no id. */
  readonly givenName: string | undefined
  readonly entry: ServerEntry
  readonly fromVariables: readonly string[]
  readonly spot: Spot
  readonly place: Place
  readonly home: string
  readonly userHome: string
  readonly log: IssueLog
}

/** One entry of `mcp_servers` as the gateway will use it, or nothing after its problems were logged. */
export function readServer(source: EntrySource): ServerConfig | undefined {
  const { entry, spot, log } = source
  const url = oneKey(source, ['url', 'httpUrl'])
  const wantsUrl = entry.type === undefined ? url !== undefined : !isLocal(entry.type)
  if (url !== undefined && entry.command !== undefined) {
    log.error(spot, 'expected "command" (a program to start) or "url" (a server to connect to); got both.')
    return undefined
  }
  if (wantsUrl) return url === undefined ? missing(source, 'url') : httpServer(source, url)
  if (entry.command === undefined) return missing(source, 'command')
  return stdioServer(source, entry.command)
}

const isLocal = (type: string): boolean => type === 'stdio' || type === 'local'

function missing({ entry, spot, log }: EntrySource, key: 'command' | 'url'): undefined {
  const problem =
    entry.type === undefined
      ? 'expected "command" (a program to start) or "url" (a server to connect to); got neither.'
      : `expected "${key}", since its type is "${entry.type}"; got none.`
  log.error(spot, problem)
}

type TwinKeys =
  | 'url'
  | 'httpUrl'
  | 'env'
  | 'environment'
  | 'includeTools'
  | 'enabledTools'
  | 'excludeTools'
  | 'disabledTools'

/** The value of a key that has two names; both at once is an error. */
function oneKey<const Key extends TwinKeys>({ entry, spot, log }: EntrySource, keys: readonly [Key, Key]) {
  const [first, second] = keys
  const twin = spot.children.get(second)
  if (entry[first] !== undefined && entry[second] !== undefined && twin !== undefined) {
    log.error(twin, `this means the same as "${first}", which stands here too. Keep one of them.`)
  }
  return entry[first] ?? entry[second]
}

function common(source: EntrySource) {
  const { entry, spot, log } = source
  return {
    id: source.id,
    title: entry.title ?? source.givenName,
    enabled: isEnabled(entry),
    era: entry.era ?? 'auto',
    timeouts: readTimeouts(entry, spot, log),
    includeTools: oneKey(source, ['includeTools', 'enabledTools']),
    excludeTools: oneKey(source, ['excludeTools', 'disabledTools']) ?? [],
    maxMessageBytes: entry.maxMessage ?? DEFAULT_MAX_MESSAGE_BYTES,
    fromVariables: source.fromVariables,
    place: source.place,
  } as const
}

/** Either key can switch a server off; neither can overrule the other. */
export function isEnabled(entry: Pick<ServerEntry, 'enabled' | 'disabled'>): boolean {
  return entry.enabled !== false && entry.disabled !== true
}

function stdioServer(source: EntrySource, command: string | readonly string[]): StdioServerConfig | undefined {
  const { entry, spot, log } = source
  const [program = '', ...firstArgs] = typeof command === 'string' ? [command] : command
  if (program.trim() === '') {
    log.error(spot.children.get('command') ?? spot, 'expected a program, such as "npx"; got an empty text.')
    return undefined
  }
  ignored(source, ['headers'], 'a server that is started by its command')
  const env = oneKey(source, ['env', 'environment']) ?? {}
  checkEnvNames(env, source)
  return {
    ...common(source),
    kind: 'stdio',
    command: resolveCommand(program, source),
    args: [...firstArgs, ...(entry.args ?? [])],
    env,
    cwd: entry.cwd === undefined ? undefined : resolve(source.home, expandTilde(entry.cwd, source.userHome)),
    per: entry.per ?? 'gateway',
  }
}

function checkEnvNames(env: Readonly<Record<string, string>>, { spot, log }: EntrySource): void {
  const map = spot.children.get('env') ?? spot.children.get('environment')
  for (const name of Object.keys(env)) {
    if (name !== '' && !/[=\0]/.test(name)) continue
    log.error(map?.children.get(name) ?? spot, 'expected the name of a variable, without "=" and NUL.')
  }
}

/** A bare name is looked up in PATH; a path is taken from the home, wherever the gateway was started. */
function resolveCommand(program: string, { home, userHome }: EntrySource): string {
  const expanded = expandTilde(program, userHome)
  return expanded.includes('/') ? resolve(home, expanded) : expanded
}

const expandTilde = (path: string, userHome: string): string => {
  if (path === '~') return userHome
  return path.startsWith('~/') ? join(userHome, path.slice(2)) : path
}

function httpServer(source: EntrySource, address: string): HttpServerConfig | undefined {
  const { entry, spot, log } = source
  const at = spot.children.get('url') ?? spot.children.get('httpUrl') ?? spot
  ignored(source, ['args', 'env', 'environment', 'cwd', 'per'], 'a server that is reached by its URL')
  const url = at.origin === 'unresolved' ? address : readUrl(address, at, log)
  if (url === undefined) return undefined
  if (entry.type === undefined && /\/sse\/?$/.test(url.replace(/[?#].*$/, ''))) {
    log.warn(at, 'this looks like a server of the older SSE transport. If it does not connect, add "type: sse".')
  }
  return {
    ...common(source),
    kind: entry.type === 'sse' ? 'sse' : 'http',
    url,
    headers: readHeaders(entry.headers ?? {}, spot.children.get('headers') ?? spot, log),
  }
}

function ignored({ spot, log }: EntrySource, keys: readonly string[], what: string): void {
  for (const key of keys) {
    const at = spot.children.get(key)
    if (at !== undefined) log.warn(at, `this has no meaning for ${what} and is ignored.`)
  }
}
