import { join } from 'node:path'
import { isJsonObject, type Json, type JsonObject } from '@sallyport/core'
import type { NativeServer } from './agent-adapter.ts'
import type { Overlay, OverlayRequest } from './agent-overlay.ts'
import { pathFromVariable } from './agent-paths.ts'

const EMPTY_OVERLAY: Overlay = { args: [], environment: {}, files: {}, mirrors: [], notes: [] }

export const createOverlay = (parts: Partial<Overlay>): Overlay => ({ ...EMPTY_OVERLAY, ...parts })

/** The format of most agents. Built with `fromEntries`, because a server may be named `__proto__`. */
export const entriesByName = (servers: readonly NativeServer[]): JsonObject =>
  Object.fromEntries(servers.map(({ name, entry }) => [name, entry]))

export const serverNames = (servers: readonly NativeServer[]): readonly string[] => servers.map(({ name }) => name)

/** The server names in the agent's own files, without duplicates. */
function nativeNames({ native }: OverlayRequest): readonly string[] {
  return [...new Set(native.flatMap(({ config }) => serverNames(config.servers)))]
}

/** The names of the user's servers that the agent should not have. */
export function unwantedNames(request: OverlayRequest): readonly string[] {
  const wanted = new Set(serverNames(request.servers))
  return nativeNames(request).filter((name) => !wanted.has(name))
}

/** The user's own file, with other servers. */
export function settingsWithServers({ native }: OverlayRequest, key: string, servers: Json): JsonObject {
  const document = native.find(({ file }) => file.scope === 'user')?.config.document ?? {}
  return Object.fromEntries([...Object.entries(document).filter(([name]) => name !== key), [key, servers]])
}

export function getObject(document: JsonObject, key: string): JsonObject {
  const value = Object.hasOwn(document, key) ? document[key] : undefined
  return isJsonObject(value) ? value : {}
}

/**
 * Only servers with these names are started, whatever their source. A name that no server has allows none.
 * Commands such as `mcp list` do not have the flag.
 */
export function allowedNameFlags({ servers, args }: OverlayRequest, commands: ReadonlySet<string>): readonly string[] {
  if (commands.has(args[0] ?? '')) return []
  const names = servers.length === 0 ? ['none'] : serverNames(servers)
  return names.map((name) => `--allowed-mcp-server-names=${name}`)
}

/** The folder that a variable names, or a default folder in the user's home. */
export function resolveFolder({ host }: OverlayRequest, variable: string, below: string): string {
  return pathFromVariable(host, variable) ?? join(host.home, below)
}
