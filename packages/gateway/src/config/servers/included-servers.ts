import { basename, dirname } from 'node:path'
import { BUILT_IN_SERVER, isJsonObject, isServerId, type JsonObject, slugServerId, toCamelCase } from '@sallyport/core'
import type { IncludedFile } from '../home/included-file.ts'
import { type ConfigIssue, joinKey } from '../reading/config-issue.ts'
import { createIssueLog } from '../reading/issue-log.ts'
import { type LocatedEntry, type LocatedNode, type LocatedTree, parseTree } from '../reading/located-tree.ts'
import { imageOf, type ProgramServerConfig, type ServerConfig, type StdioServerConfig } from '../settings.ts'
import { type EntryContext, entriesOf, readServerEntry, readType } from './read-server-entry.ts'
import { toPlainValue } from './written-servers.ts'

export interface IncludeContext extends Omit<EntryContext, 'log' | 'file' | 'spelling'> {
  /** The servers of config.yaml, which take precedence. */
  readonly servers: readonly ServerConfig[]
  /** The port of this gateway, so that the gateway is not added as its own server. */
  readonly port: number
}

export interface IncludedServers {
  readonly servers: readonly ServerConfig[]
  readonly errors: readonly ConfigIssue[]
  readonly warnings: readonly ConfigIssue[]
}

/** Reads the servers of an agent's own file (ISO-1). An unreadable file is an error; an unreadable entry is left out. */
export function readIncludedServers(file: IncludedFile, reading: IncludeContext): IncludedServers {
  const { path, bytes } = file
  const tree = parseTree(stripComments(decode(bytes)))
  const log = createIssueLog(path, tree.positionOf)
  for (const { offset, problem } of tree.problems) log.error({ offset, key: '' }, problem)
  const section = entriesOf(tree.root).find(({ key }) => toCamelCase(key) === 'mcpServers')
  if (section !== undefined && section.node.kind !== 'map')
    log.error(section, 'expected a mapping of names to servers.')
  const servers: ServerConfig[] = []
  const warnings: ConfigIssue[] = []
  for (const entry of section === undefined ? [] : entriesOf(section.node)) {
    const read = readIncludedEntry({ entry, tree, key: joinKey(section?.key ?? '', entry.key) }, path, {
      ...reading,
      servers: [...reading.servers, ...servers],
    })
    servers.push(...read.servers)
    warnings.push(...read.warnings)
  }
  return { servers, errors: log.errors, warnings }
}

const decode = (bytes: Buffer | undefined): string => bytes?.toString('utf8').replace(/^\uFEFF/, '') ?? ''

interface OneEntry {
  readonly entry: LocatedEntry
  readonly tree: LocatedTree
  readonly key: string
}

/** The agent may rewrite its file at any time, so one unusable entry must not stop all other servers. */
function readIncludedEntry(
  { entry, tree, key }: OneEntry,
  file: string,
  reading: IncludeContext,
): Omit<IncludedServers, 'errors'> {
  const log = createIssueLog(file, tree.positionOf)
  const subject = { offset: entry.offset, key }
  const leftOut = (why: string): Omit<IncludedServers, 'errors'> => {
    log.warn(subject, `${why} It is left out.`)
    return { servers: [], warnings: log.warnings }
  }
  const written = toPlainValue(entry.node)
  if (isJsonObject(written) && isOwnGateway(written, reading.port)) return { servers: [], warnings: [] }
  const type = readType(entry.node)
  if (type === 'server' || type === 'client' || type === 'docker-gateway')
    return leftOut('this type is not allowed in the file of an agent.')
  const id = isServerId(entry.key) ? entry.key : slugServerId(entry.key)
  if (id === '') return leftOut('expected a name with a letter a-z or a digit in it.')
  const node = isGeminiFile(file) ? addSseType(entry.node) : entry.node
  const spelling = isGeminiFile(file) ? (text: string) => addBraces(text, reading.lookup) : undefined
  const server = readServerEntry(
    { ...subject, node },
    { name: entry.key, id },
    { ...reading, file, log, ...(spelling && { spelling }) },
  )
  if (server === undefined || log.errors.length > 0) {
    const problems = log.errors.map((issue) => ({ ...issue, problem: `${issue.problem} The server is left out.` }))
    return { servers: [], warnings: [...problems, ...log.warnings] }
  }
  // An agent writes this file: only a person decides which servers learn who calls.
  if (server.identity !== undefined) return leftOut('the key "identity" is not allowed in the file of an agent.')
  const widening = reading.sandboxDefault.isolates && server.kind === 'stdio' && findWidening(server)
  if (widening) return leftOut(`the key "${widening}" is not allowed in the file of an agent.`)
  const same = reading.servers.find((other) => other.id === id)
  if (same !== undefined && isSameTarget(same, server)) return { servers: [], warnings: log.warnings }
  const free = findFreeId(id, guessAgent(file), reading.servers)
  if (free !== id) log.warn(subject, `there is another server named "${id}": this one is renamed to "${free}".`)
  return { servers: [{ ...server, id: free }], warnings: log.warnings }
}

/** What takes away from the sandbox that config.yaml asks for. */
const findWidening = ({ sandbox }: StdioServerConfig): string | undefined => {
  if (sandbox === undefined || sandbox.driver === 'none') return 'allow_unsandboxed'
  if (sandbox.network === 'host') return 'network'
  if (sandbox.limits !== undefined) return 'limits'
  return sandbox.mounts.length > 0 ? 'mounts' : undefined
}

/** Gemini CLI and Qwen Code treat `url` as the older SSE transport unless a type says otherwise. */
function addSseType(node: LocatedNode): LocatedNode {
  const entries = entriesOf(node)
  const url = entries.find(({ key }) => key === 'url')
  if (node.kind !== 'map' || url === undefined || entries.some(({ key }) => key === 'type' || key === 'httpUrl'))
    return node
  const type: LocatedEntry = { key: 'type', offset: url.offset, node: { kind: 'scalar', value: 'sse', source: 'sse' } }
  return { kind: 'map', entries: [...entries, type] }
}

/** They also treat `$NAME` as a variable, and leave the text as it is if the variable is not set. */
function addBraces(text: string, lookup: EntryContext['lookup']): string {
  return text.replaceAll(/\$([A-Za-z_]\w*)/g, (found, name: string) =>
    lookup(name) === undefined ? found : `\${${name}}`,
  )
}

const isGeminiFile = (file: string): boolean => /^\.(?:gemini|qwen)$/.test(basename(dirname(file)))

/** A word that distinguishes a server of this file from another one with the same name. */
function guessAgent(file: string): string {
  if (/^\.(?:mcp|claude)\.json$/.test(basename(file))) return 'claude'
  return slugServerId(basename(dirname(file))) || 'included'
}

function findFreeId(id: string, agent: string, servers: readonly ServerConfig[]): string {
  const taken = new Set([BUILT_IN_SERVER, ...servers.map((server) => server.id)])
  if (!taken.has(id)) return id
  const base = slugServerId(`${id.slice(0, 24)}-${agent.slice(0, 12)}`)
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? base : `${base}-${number}`
    if (!taken.has(candidate)) return candidate
  }
}

/** The same program with the same arguments, or the same address. */
function isSameTarget(one: ServerConfig, other: ServerConfig): boolean {
  if ('url' in one || 'url' in other) return 'url' in one && 'url' in other && one.url === other.url
  return JSON.stringify(targetOf(one)) === JSON.stringify(targetOf(other))
}

const targetOf = (config: ProgramServerConfig) => [imageOf(config), config.command, config.args]

/** Replaces comments in JSON with spaces, so that the positions of everything else stay the same. */
function stripComments(text: string): string {
  return text.replaceAll(/"(?:[^"\\\n]|\\.)*"|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (found) =>
    found.startsWith('"') ? found : found.replaceAll(/[^\n]/g, ' '),
  )
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/i

/** Whether an entry points to this gateway itself, which must not become one of its own servers. */
export function isOwnGateway(entry: JsonObject, port: number): boolean {
  const { command, args, url, httpUrl, http_url } = entry
  const address = url ?? httpUrl ?? http_url
  if (typeof address === 'string') return isOwnUrl(address, port)
  const words = [command, args].flat().filter((word): word is string => typeof word === 'string')
  const names = words.map((word) => basename(word.replaceAll('\\', '/')))
  const isOurs = names.some((word) => /^sallyport(?:@.+|\.js|\.cmd|\.exe)?$/.test(word)) || words.some(isBuiltCommand)
  return isOurs && names.includes('serve')
}

const isBuiltCommand = (word: string): boolean => /gateway[/\\]dist[/\\]cli[/\\]main\.js$/.test(word)

function isOwnUrl(text: string, port: number): boolean {
  if (!URL.canParse(text)) return false
  const url = new URL(text)
  return LOOPBACK.test(url.hostname) && Number(url.port || 80) === port && /^\/mcp(?:\/|$)/.test(url.pathname)
}
