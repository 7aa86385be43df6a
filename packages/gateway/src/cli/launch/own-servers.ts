import {
  type AgentAdapter,
  applyAgentMcpFilter,
  type FoundServer,
  type NativeServer,
  type OwnFile,
} from '../../agents/agents.ts'

export type Selections = readonly (readonly string[] | undefined)[]

/** A server of which the agent itself cannot be given just what is selected. */
export interface WrapWish {
  readonly found: FoundServer
  readonly why: string
  /** The names of all servers in its file. */
  readonly names: readonly string[]
}

export interface OwnServers {
  readonly servers: readonly NativeServer[]
  readonly wraps: readonly WrapWish[]
  readonly notes: readonly string[]
}

export interface OwnSelection {
  readonly files: readonly OwnFile[]
  readonly selections: Selections
  /** Why none of its own entries can be passed on, where that is so. */
  readonly carriesNone: string | undefined
}

/** What selections leave of an agent's own servers, each in its own words. Every selection only takes away. */
export function selectOwnServers(adapter: AgentAdapter, selection: OwnSelection): OwnServers {
  const servers = new Map<string, NativeServer>()
  const wraps = new Map<string, WrapWish>()
  for (const file of selection.files) {
    const { left, whys } = filterFile(adapter, file, selection)
    const names = file.config.servers.map(({ name }) => name)
    for (const { name, entry } of file.config.servers) {
      // Of two servers with one name the later one counts, also when nothing is left of it.
      servers.delete(name)
      wraps.delete(name)
      const why = whys.get(name)
      if (why !== undefined) wraps.set(name, { found: foundIn(adapter, file, { name, entry }), why, names })
    }
    for (const server of left) servers.set(server.name, server)
  }
  return { servers: [...servers.values()], wraps: [...wraps.values()], notes: unmatchedNotes(adapter, selection) }
}

interface FilteredFile {
  readonly left: readonly NativeServer[]
  /** By name, why a server is not among them that is selected all the same. */
  readonly whys: ReadonlyMap<string, string>
}

function filterFile({ toolFilter }: AgentAdapter, { config }: OwnFile, selection: OwnSelection): FilteredFile {
  const whys = new Map<string, string>()
  let left = config
  for (const one of selection.selections) {
    const { config: filtered, wrap } = applyAgentMcpFilter(left, one, { tools: [], toolFilter })
    for (const { name, why } of wrap) whys.set(name, why)
    left = filtered
  }
  const { carriesNone } = selection
  if (carriesNone === undefined) return { left: left.servers, whys }
  for (const { name } of left.servers) whys.set(name, carriesNone)
  return { left: [], whys }
}

function foundIn(adapter: AgentAdapter, { file }: OwnFile, server: NativeServer): FoundServer {
  const { path, scope } = file
  return { agent: adapter.id, file: path, scope, name: server.name, server: adapter.toServer(server) }
}

/** Selectors that mean a server of none of the files: a misspelt one should not look as if it worked (AG-8). */
function unmatchedNotes({ toolFilter }: AgentAdapter, { files, selections }: OwnSelection): readonly string[] {
  const meaningless = selections.flatMap((selection = []) => {
    const perFile = files.map(
      ({ config }) => applyAgentMcpFilter(config, selection, { tools: [], toolFilter }).unmatched,
    )
    return selection.filter((selector) => perFile.every((unmatched) => unmatched.includes(selector)))
  })
  return [...new Set(meaningless)].map((selector) => `"${selector}" means none of the agent’s own servers.`)
}
