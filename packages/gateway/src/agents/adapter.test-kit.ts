import type { AgentAdapter, AgentPlace, ImportedServer, NativeConfig, NativeFile, NativeScope } from './agents.ts'

export const PLACE: AgentPlace = { environment: {}, platform: 'linux', home: '/home/ada', cwd: '/work/app' }

export const placeWith = (changes: Partial<AgentPlace>): AgentPlace => ({ ...PLACE, ...changes })

/** Scope and path of each file, as one text. */
export const filesOf = (adapter: AgentAdapter, place: AgentPlace = PLACE): readonly string[] =>
  adapter.nativeFiles(place).map(({ scope, path }) => `${scope} ${path}`)

/** What the adapter makes of a text in its first file of a scope. */
export function parsed(adapter: AgentAdapter, text: string, scope: NativeScope = 'user'): NativeConfig {
  const file: NativeFile | undefined = adapter.nativeFiles(PLACE).find((one) => one.scope === scope)
  if (file === undefined) throw new Error(`${adapter.id} has no file of the scope ${scope}.`)
  return adapter.getMcpConfig(text, file)
}

/** Each server of a text as our config.yaml would say it: its entry, why it cannot be said, and all notes. */
export function imported(adapter: AgentAdapter, text: string, scope: NativeScope = 'user') {
  const { servers } = parsed(adapter, text, scope)
  const results = servers.map((server): readonly [string, ImportedServer] => [server.name, adapter.toServer(server)])
  return {
    servers: Object.fromEntries(results.map(([name, one]) => [name, one.ok ? one.config : one.why])),
    notes: results.flatMap(([name, one]) => (one.ok ? one.notes.map((note) => `${name}: ${note}`) : [])),
  }
}
