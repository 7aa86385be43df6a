import {
  type AgentAdapter,
  applyAgentMcpFilter,
  type FoundServer,
  type NativeServer,
  type ParsedNativeFile,
} from '../../agents/agents.ts'

export type Selections = readonly (readonly string[] | undefined)[]

/** A server of which the agent itself cannot be given just what is selected. */
export interface ServerToWrap {
  readonly found: FoundServer
  readonly why: string
  /** The names of all servers in its file. */
  readonly names: readonly string[]
}

export interface SelectedServers {
  readonly servers: readonly NativeServer[]
  readonly toWrap: readonly ServerToWrap[]
  readonly notes: readonly string[]
}

export interface SelectionOptions {
  readonly files: readonly ParsedNativeFile[]
  readonly selections: Selections
  /** Why none of its own entries can be passed on, where that is so. */
  readonly noNativeReason: string | undefined
}

/** What selections leave of an agent's own servers, each in its own words. Every selection only takes away. */
export function selectNativeServers(adapter: AgentAdapter, selection: SelectionOptions): SelectedServers {
  const servers = new Map<string, NativeServer>()
  const wraps = new Map<string, ServerToWrap>()
  for (const file of selection.files) {
    const { left, reasons } = filterFile(adapter, file, selection)
    const names = file.config.servers.map(({ name }) => name)
    for (const { name, entry } of file.config.servers) {
      // Of two servers with one name the later one counts, also when nothing is left of it.
      servers.delete(name)
      wraps.delete(name)
      const why = reasons.get(name)
      if (why !== undefined) wraps.set(name, { found: toFoundServer(adapter, file, { name, entry }), why, names })
    }
    for (const server of left) servers.set(server.name, server)
  }
  return { servers: [...servers.values()], toWrap: [...wraps.values()], notes: unmatchedNotes(adapter, selection) }
}

interface FilteredFile {
  readonly left: readonly NativeServer[]
  /** By name, why a server is not among them that is selected all the same. */
  readonly reasons: ReadonlyMap<string, string>
}

function filterFile(
  { toolFilter }: AgentAdapter,
  { config }: ParsedNativeFile,
  selection: SelectionOptions,
): FilteredFile {
  const reasons = new Map<string, string>()
  let left = config
  for (const one of selection.selections) {
    const { config: filtered, wrap } = applyAgentMcpFilter(left, one, { tools: [], toolFilter })
    for (const { name, why } of wrap) reasons.set(name, why)
    left = filtered
  }
  const { noNativeReason } = selection
  if (noNativeReason === undefined) return { left: left.servers, reasons }
  for (const { name } of left.servers) reasons.set(name, noNativeReason)
  return { left: [], reasons }
}

function toFoundServer(adapter: AgentAdapter, { file }: ParsedNativeFile, server: NativeServer): FoundServer {
  const { path, scope } = file
  return { agent: adapter.id, file: path, scope, name: server.name, server: adapter.toServer(server) }
}

/** Selectors that mean a server of none of the files: a misspelt one should not look as if it worked (AG-8). */
function unmatchedNotes({ toolFilter }: AgentAdapter, { files, selections }: SelectionOptions): readonly string[] {
  const meaningless = selections.flatMap((selection = []) => {
    const perFile = files.map(
      ({ config }) => applyAgentMcpFilter(config, selection, { tools: [], toolFilter }).unmatched,
    )
    return selection.filter((selector) => perFile.every((unmatched) => unmatched.includes(selector)))
  })
  return [...new Set(meaningless)].map((selector) => `"${selector}" means none of the agent’s own servers.`)
}
