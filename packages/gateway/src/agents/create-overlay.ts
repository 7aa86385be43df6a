import { join } from 'node:path'
import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import type { NativeServer } from './agent-adapter.ts'
import type { Overlay, OverlayRequest } from './agent-overlay.ts'
import { pathFromVariable } from './agent-paths.ts'

const EMPTY_OVERLAY: Overlay = { args: [], environment: {}, files: {}, mirrors: [], notes: [] }

export const createOverlay = (parts: Partial<Overlay>): Overlay => ({ ...EMPTY_OVERLAY, ...parts })

/** By name, as most agents write them. Built from entries: a server may be called `__proto__`. */
export const entriesByName = (servers: readonly NativeServer[]): JsonObject =>
  Object.fromEntries(servers.map(({ name, entry }) => [name, entry]))

export const serverNames = (servers: readonly NativeServer[]): readonly string[] => servers.map(({ name }) => name)

/** The names that the agent's own files use, each once. */
function nativeNames({ native }: OverlayRequest): readonly string[] {
  return [...new Set(native.flatMap(({ config }) => serverNames(config.servers)))]
}

/** The user's own names that are not among those the agent is to have. */
export function unwantedNames(request: OverlayRequest): readonly string[] {
  const wanted = new Set(serverNames(request.servers))
  return nativeNames(request).filter((name) => !wanted.has(name))
}

/** All that the user's own file says, with other servers in it. */
export function settingsWithServers({ native }: OverlayRequest, key: string, servers: Json): JsonObject {
  const document = native.find(({ file }) => file.scope === 'user')?.config.document ?? {}
  return Object.fromEntries([...Object.entries(document).filter(([name]) => name !== key), [key, servers]])
}

export function getObject(document: JsonObject, key: string): JsonObject {
  const value = Object.hasOwn(document, key) ? document[key] : undefined
  return isJsonObject(value) ? value : {}
}

/**
 * Only these names count, whoever brings the servers: the project, extensions. A name that nobody has allows none.
 * A command such as `mcp list` does not know the flag.
 */
export function allowedNameFlags({ servers, args }: OverlayRequest, commands: ReadonlySet<string>): readonly string[] {
  if (commands.has(args[0] ?? '')) return []
  const names = servers.length === 0 ? ['none'] : serverNames(servers)
  return names.map((name) => `--allowed-mcp-server-names=${name}`)
}

/** A folder that a variable names, else one below the user's home. */
export function resolveFolder({ host }: OverlayRequest, variable: string, below: string): string {
  return pathFromVariable(host, variable) ?? join(host.home, below)
}
