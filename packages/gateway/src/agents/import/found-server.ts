import type { JsonObject } from '@sallyport/core'
import type { AgentAdapter, ImportedServer, NativeScope } from '../agent-adapter.ts'
import type { NativeFileResult } from '../read-agent-configs.ts'

/** An entry as it is under `mcp_servers` in our config.yaml. */
export type ConfigEntry = JsonObject

/** Where a server was found: in which file of which agent, and under which name. */
export interface ServerOrigin {
  readonly agent: string
  readonly file: string
  readonly scope: NativeScope
  readonly name: string
}

export interface FoundServer extends ServerOrigin {
  readonly server: ImportedServer
}

/** The servers in a file of an agent, in our format. */
export function listFoundServers(adapter: AgentAdapter, result: NativeFileResult): readonly FoundServer[] {
  if (result.state !== 'read') return []
  const { path: file, scope } = result.file
  return result.config.servers.map((native) => ({
    ...{ agent: adapter.id, file, scope, name: native.name },
    server: adapter.toServer(native),
  }))
}

/** A part of an entry as a mapping of names to strings; other values are left out. */
export function readStrings(entry: ConfigEntry, key: 'env' | 'headers'): Readonly<Record<string, string>> {
  const part = entry[key]
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return {}
  return Object.fromEntries(
    Object.entries(part).filter((pair): pair is [string, string] => typeof pair[1] === 'string'),
  )
}

/** The program and its arguments; empty for a server with a URL. */
export function readCommandWords({ command, args }: ConfigEntry): readonly string[] {
  const words = [...(Array.isArray(command) ? command : [command]), ...(Array.isArray(args) ? args : [])]
  return words.filter((word): word is string => typeof word === 'string')
}

export function urlOf({ url, httpUrl, http_url }: ConfigEntry): string | undefined {
  const found = url ?? httpUrl ?? http_url
  return typeof found === 'string' ? found : undefined
}

/** Whether a text refers to a variable. `$${` is an escaped `${`. */
export const hasReference = (text: string): boolean => /(?<!\$)\$\{/.test(text)
