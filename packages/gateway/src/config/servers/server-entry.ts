import { isLoopback } from '@sallyport/core'
import type { ServerEntry } from '../reading/config-schema.ts'
import { type EntrySource, readCommonSettings, readEitherKey, readProgram } from '../reading/entry-source.ts'
import type { HttpServerConfig, ServerConfig, ServerSandbox, StdioServerConfig } from '../settings.ts'
import { readSandbox, refuseSandbox } from './sandbox-entry.ts'
import { readHeaders, readUrl } from './server-address.ts'
import type { CommonEntry } from './server-keys.ts'

type Source = EntrySource<ServerEntry>

/** Reads one entry of `mcp_servers`. If it is invalid, it logs its problems and returns `undefined`. */
export function readServer(source: Source): ServerConfig | undefined {
  const { entry, node, log } = source
  if (entry.type === 'docker-gateway') {
    log.error(
      node.children.get('type') ?? node,
      'expected this type to be written without a variable, because it determines which keys are allowed.',
    )
    return undefined
  }
  const url = readEitherKey(source, ['url', 'httpUrl'])
  if (url === undefined && hasStrayCounterpart(source)) return undefined
  const wantsUrl = entry.type === undefined ? url !== undefined : !isLocal(entry.type)
  if (url !== undefined && entry.command !== undefined) {
    log.error(node, 'expected "command" (a program to start) or "url" (a server to connect to); got both.')
    return undefined
  }
  if (entry.image !== undefined && !wantsUrl) return readImageServer(source)
  if (wantsUrl) return url === undefined ? reportMissing(source, 'url') : readHttpServer(source, url)
  if (entry.command === undefined) return reportMissing(source, 'command')
  return readStdioServer(source, entry.command)
}

/** Reports an `url_isolated` without the `url` that it belongs to. */
export function hasStrayCounterpart({ entry, node, log }: EntrySource<CommonEntry>): boolean {
  if (entry.urlIsolated === undefined) return false
  log.error(
    node.children.get('urlIsolated') ?? node,
    'expected "url" beside it: both are addresses of one server, and this one is its instance without a network. Run both instances and write both addresses, or remove this key.',
  )
  return true
}

const isLocal = (type: string): boolean => type === 'stdio' || type === 'local'

function reportMissing({ entry, node, log }: Source, key: 'command' | 'url'): undefined {
  const problem =
    entry.type === undefined
      ? 'expected "command" (a program to start), "image" (a container image) or "url" (a server to connect to); got none.'
      : `expected "${key}", since its type is "${entry.type}"; got none.`
  log.error(node, problem)
}

function readStdioServer(source: Source, command: string | readonly string[]): StdioServerConfig | undefined {
  const { entry } = source
  const program = readProgram(source, typeof command === 'string' ? [command] : command)
  if (program === undefined) return undefined
  warnIgnored(source, ['headers'], 'a server that is started by its command')
  const sandbox = readSandbox(source)
  const args = [...program.args, ...(entry.args ?? [])]
  return { ...readCommonSettings(source), ...program, args, kind: 'stdio', ...shareProcess(source, sandbox) }
}

/** The program of a container image: neither its name nor its folder is one of this machine. */
function readImageServer(source: Source): StdioServerConfig | undefined {
  const { entry, node, log } = source
  const [command = '', ...first] = typeof entry.command === 'string' ? [entry.command] : (entry.command ?? [])
  const program = readProgram(source, ['image'])
  if (program === undefined) return undefined
  if (entry.cwd !== undefined && !entry.cwd.startsWith('/'))
    log.error(node.children.get('cwd') ?? node, 'expected a path inside the image, which begins with /.')
  warnIgnored(source, ['headers'], 'a container image')
  const args = [...first, ...(entry.args ?? [])]
  const sandbox = readSandbox(source)
  return {
    ...readCommonSettings(source),
    ...{ env: program.env, cwd: entry.cwd, command, args, kind: 'stdio' },
    ...shareProcess(source, sandbox),
  }
}

/** What a process in a sandbox may reach depends on the session that it serves, so it serves one. */
function shareProcess({ entry, node, log }: Source, sandbox: ServerSandbox | undefined) {
  if (sandbox === undefined) return { per: entry.per ?? 'gateway' }
  if (entry.per === 'gateway')
    log.error(
      node.children.get('per') ?? node,
      'expected "session": a server in a sandbox, or one that runs without it although sandbox.default asks for one, has a process for each session.',
    )
  return { per: 'session' as const, sandbox }
}

function readHttpServer(source: Source, address: string): HttpServerConfig | undefined {
  const { entry, node, log } = source
  const at = node.children.get('url') ?? node.children.get('httpUrl') ?? node
  refuseSandbox(source)
  const urlIsolated = readCounterpart(source, address)
  warnIgnored(source, ['args', 'env', 'environment', 'cwd', 'per'], 'a server that is reached by its URL')
  const url = at.origin === 'unresolved' ? address : readUrl(address, at, log)
  if (url === undefined) return undefined
  if (entry.type === undefined && /\/sse\/?$/.test(url.replace(/[?#].*$/, ''))) {
    log.warn(at, 'this looks like a server of the older SSE transport. If it does not connect, add "type: sse".')
  }
  for (const each of urlIsolated === undefined ? [url] : [url, urlIsolated]) checkChannel(source, each)
  return {
    ...readCommonSettings(source),
    kind: entry.type === 'sse' ? 'sse' : 'http',
    url,
    ...(urlIsolated !== undefined && { urlIsolated }),
    headers: readHeaders(entry.headers ?? {}, node.children.get('headers') ?? node, log),
  }
}

/** Whoever could read or answer the requests could use the tokens of callers for a minute (SEN-19). */
function checkChannel({ entry, node, credentials, log }: Source, address: string): void {
  if (entry.identity === undefined || !URL.canParse(address)) return
  const { protocol, hostname } = new URL(address)
  if (protocol === 'https:' || isLoopback(hostname.replace(/^\[|\]$/g, '')) || credentials.length > 0) return
  log.error(
    node.children.get('identity') ?? node,
    'expected a url with https, a url on loopback, or a secret in "headers": otherwise any program on the way could use the tokens that name the caller.',
  )
}

function readCounterpart({ entry: { urlIsolated }, node, log }: Source, address: string): string | undefined {
  const at = node.children.get('urlIsolated') ?? node
  if (urlIsolated === undefined || at.origin === 'unresolved') return urlIsolated
  const url = readUrl(urlIsolated, at, log)
  if (url === undefined || !URL.canParse(address) || new URL(address).href !== new URL(url).href) return url
  log.error(at, 'expected another address than that of "url": this is the instance that cannot reach the network.')
}

function warnIgnored({ node, log }: Source, keys: readonly string[], what: string): void {
  for (const key of keys) {
    const at = node.children.get(key)
    if (at !== undefined) log.warn(at, `this has no meaning for ${what} and is ignored.`)
  }
}
