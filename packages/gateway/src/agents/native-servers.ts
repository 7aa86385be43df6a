import { isJsonList, isJsonObject, type Json, type JsonObject, quoteText, SallyportError } from '@sallyport/core'
import type { NativeConfig, NativeServer } from './agent-adapter.ts'
import { findJsonOffset, parseJson } from './files/parse-json.ts'
import { findTomlOffset, parseToml } from './files/parse-toml.ts'
import { findYamlOffset, parseYamlFile } from './files/parse-yaml-file.ts'
import { type ParsedText, positionAt } from './files/parsed-text.ts'

const MAX_SHOWN = 60

export interface ServersLocation {
  readonly serversPath: readonly string[]
  /** The servers are a list of entries with a name, not a mapping of names to entries. */
  readonly isList: boolean
  /** The source location of these keys, for people. */
  readonly locate: (keys: readonly string[]) => string
  /** Whether an entry is a part of the agent itself and not an MCP server. */
  readonly isBuiltIn: (entry: JsonObject) => boolean
}

/** Parses the servers of a document: a mapping of names to entries, or a list of entries with a name. */
export function parseServers(document: JsonObject, location: ServersLocation): NativeConfig {
  const { serversPath, isBuiltIn } = location
  assertServersSection(document, location)
  const section = getValueAt(document, serversPath)
  const members = section === undefined || section === null ? [] : (listMembers(section) ?? [])
  const servers: NativeServer[] = []
  const builtInNames: string[] = []
  const problems: string[] = []
  for (const [name, entry] of members) {
    if (name === undefined) problems.push('An entry without a name is left out.')
    else if (!isJsonObject(entry)) {
      problems.push(`${quoteText(name, MAX_SHOWN)} is left out: expected an object that describes a server.`)
    } else if (isBuiltIn(entry)) builtInNames.push(name)
    else servers.push({ name, entry })
  }
  return { servers, document, serversPath, builtInNames, problems }
}

/** Throws if the section has the wrong type: otherwise it would look as if there were no servers. */
function assertServersSection(document: JsonObject, { serversPath, isList, locate }: ServersLocation): void {
  for (const [at] of serversPath.entries()) {
    const keys = serversPath.slice(0, at + 1)
    const value = getValueAt(document, keys)
    if (value === undefined || value === null || isJsonObject(value)) continue
    const isLast = keys.length === serversPath.length
    if (isLast && isList && isJsonList(value)) continue
    const expected = isLast ? 'to contain servers by name' : 'to be an object'
    throw invalidFileError(`${locate(keys)}: expected ${keys.join('.')} ${expected}.`)
  }
}

/** Replaces or removes each server as `decide` returns. Everything else in the file is preserved. */
export function mapServers(
  config: NativeConfig,
  decide: (server: NativeServer) => JsonObject | undefined,
): NativeConfig {
  const { document, serversPath, builtInNames } = config
  const section = getValueAt(document, serversPath)
  if (section === undefined || section === null) return config
  const decided = new Map(config.servers.map((server) => [server.entry, decide(server)]))
  const builtIn = new Set(builtInNames)
  const members = (listMembers(section) ?? []).flatMap(([name, member]) => {
    if (name === undefined || !isJsonObject(member)) return []
    const entry = builtIn.has(name) && !decided.has(member) ? member : decided.get(member)
    return entry === undefined ? [] : [[name, entry] as const]
  })
  const newSection = isJsonList(section) ? members.map(([, entry]) => entry) : Object.fromEntries(members)
  const servers = config.servers.flatMap((server) => {
    const entry = decided.get(server.entry)
    return entry === undefined ? [] : [{ name: server.name, entry }]
  })
  return { ...config, servers, document: setValueAt(document, serversPath, newSection), problems: [] }
}

function listMembers(section: Json): readonly (readonly [string | undefined, Json | undefined])[] | undefined {
  if (isJsonObject(section)) return Object.entries(section)
  if (!isJsonList(section)) return undefined
  return section.map((item) => {
    const name = isJsonObject(item) ? ownValue(item, 'name') : undefined
    return [typeof name === 'string' ? name : undefined, item] as const
  })
}

function getValueAt(document: JsonObject, path: readonly string[]): Json | undefined {
  let value: Json | undefined = document
  for (const step of path) value = isJsonObject(value) ? ownValue(value, step) : undefined
  return value
}

/** Rebuilt with `fromEntries`, so that a key named `__proto__` is handled like any other. */
function setValueAt(document: JsonObject, path: readonly string[], value: Json): JsonObject {
  const [step, ...rest] = path
  return Object.fromEntries(
    Object.entries(document).map(([key, part]) => {
      if (key !== step) return [key, part]
      return [key, rest.length === 0 || !isJsonObject(part) ? value : setValueAt(part, rest, value)]
    }),
  )
}

const ownValue = (object: JsonObject, key: string): Json | undefined =>
  Object.hasOwn(object, key) ? object[key] : undefined

export type NativeSyntax = 'json' | 'toml' | 'yaml'

const PARSERS: Readonly<Record<NativeSyntax, (text: string) => ParsedText>> = {
  json: parseJson,
  toml: parseToml,
  yaml: parseYamlFile,
}

/** Finds the offset of the value of these keys. */
const FINDERS: Readonly<Record<NativeSyntax, (text: string, keys: readonly string[]) => number | undefined>> = {
  json: findJsonOffset,
  toml: findTomlOffset,
  yaml: findYamlOffset,
}

const stripBom = (text: string): string => (text.startsWith('\uFEFF') ? text.slice(1) : text)

/** `file:line:column` of a value, or of the start of the file if it cannot be found. */
export function locateValue(text: string, syntax: NativeSyntax, { path, keys }: ValueLocation): string {
  const plain = stripBom(text)
  const { line, column } = positionAt(plain, FINDERS[syntax](plain, keys) ?? 0)
  return `${path}:${line}:${column}`
}

interface ValueLocation {
  readonly path: string
  readonly keys: readonly string[]
}

/** Parses a whole file of an agent. */
export function parseNativeFile(text: string, path: string, syntax: NativeSyntax): JsonObject {
  const parsed = PARSERS[syntax](stripBom(text))
  if (!parsed.ok) throw invalidFileError(`${path}:${parsed.line}:${parsed.column}: ${parsed.problem}`)
  if (!isJsonObject(parsed.value)) throw invalidFileError(`${path}:1:1: expected an object, such as {}.`)
  return parsed.value
}

/** An agent's file that does not have the format of that agent. */
function invalidFileError(message: string): SallyportError {
  return new SallyportError('AGENT_CONFIG_INVALID', message, {
    hint: 'Correct the file with an editor, or with the agent: Sallyport only reads it.',
  })
}
