import type { Json, JsonObject } from '@sallyport/core'
import { stringify } from 'smol-toml'
import type { AgentAdapter, HostContext, ImportedServer, NativeConfig, NativeFile, NativeScope } from './agents.ts'

export const HOST: HostContext = { environment: {}, platform: 'linux', home: '/home/ada', cwd: '/srv/app' }

export const hostWith = (changes: Partial<HostContext>): HostContext => ({ ...HOST, ...changes })

/** Scope and path of each file, as one string. */
export const listNativeFiles = (adapter: AgentAdapter, host: HostContext = HOST): readonly string[] =>
  adapter.nativeFiles(host).map(({ scope, path }) => `${scope} ${path}`)

/** Parses a text as the adapter's first file of a scope. */
export function parseNativeText(adapter: AgentAdapter, text: string, scope: NativeScope = 'user'): NativeConfig {
  const file: NativeFile | undefined = adapter.nativeFiles(HOST).find((one) => one.scope === scope)
  if (file === undefined) throw new Error(`${adapter.id} has no file of the scope ${scope}.`)
  return adapter.getMcpConfig(text, file)
}

/** Translates each server of a text for our config.yaml: its entry, or why it cannot be translated, and all notes. */
export function importNativeText(adapter: AgentAdapter, text: string, scope: NativeScope = 'user') {
  const { servers } = parseNativeText(adapter, text, scope)
  const results = servers.map((server): readonly [string, ImportedServer] => [server.name, adapter.toServer(server)])
  return {
    servers: Object.fromEntries(results.map(([name, one]) => [name, one.ok ? one.config : one.why])),
    notes: results.flatMap(([name, one]) => (one.ok ? one.notes.map((note) => `${name}: ${note}`) : [])),
  }
}

/** The same servers in the agent's own file, read back from its text. */
export function configWith(adapter: AgentAdapter, entries: readonly (readonly [string, JsonObject])[]): NativeConfig {
  const [file] = adapter.nativeFiles(HOST)
  if (file === undefined) throw new Error(`${adapter.id} has no file.`)
  const { serversPath } = adapter.getMcpConfig('', file)
  const section: Json =
    adapter.id === 'continue' ? entries.map(([name, entry]) => ({ ...entry, name })) : Object.fromEntries(entries)
  const inner = serversPath.reduceRight<Json>(
    (value, key) => ({ 'kept first': 1, [key]: value, kept: { a: [1] } }),
    section,
  )
  return adapter.getMcpConfig(nativeText(inner as JsonObject, file.path), file)
}

/** A document in the syntax of the file; JSON is YAML too. */
export const nativeText = (document: JsonObject, path: string): string =>
  path.endsWith('.toml') ? stringify(document as Record<string, unknown>) : JSON.stringify(document)
