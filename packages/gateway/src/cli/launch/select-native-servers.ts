import {
  type AgentAdapter,
  applyAgentMcpFilter,
  type FoundServer,
  type NativeServer,
  type ParsedNativeFile,
} from '../../agents/agents.ts'

export type Selections = readonly (readonly string[] | undefined)[]

/** A server for which the agent itself cannot apply the selection. */
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
  /** Why the agent's own entries cannot be passed on, if that is so. */
  readonly noNativeReason: string | undefined
}

/** Applies the selections to an agent's own servers, in the agent's own format. A selection can only remove. */
export function selectNativeServers(adapter: AgentAdapter, selection: SelectionOptions): SelectedServers {
  const servers = new Map<string, NativeServer>()
  const wraps = new Map<string, ServerToWrap>()
  for (const file of selection.files) {
    const { left, reasons } = filterFile(adapter, file, selection)
    const names = file.config.servers.map(({ name }) => name)
    for (const { name, entry } of file.config.servers) {
      // Of two servers with the same name the later one applies, even if its selection is empty.
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
  /** By name: why a selected server is not in `left`. */
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

/** Warns about selectors that match no server in any file, since they may be misspelt (AG-8). */
function unmatchedNotes({ toolFilter }: AgentAdapter, { files, selections }: SelectionOptions): readonly string[] {
  const unmatchedSelectors = selections.flatMap((selection = []) => {
    const perFile = files.map(
      ({ config }) => applyAgentMcpFilter(config, selection, { tools: [], toolFilter }).unmatched,
    )
    return selection.filter((selector) => perFile.every((unmatched) => unmatched.includes(selector)))
  })
  return [...new Set(unmatchedSelectors)].map((selector) => `"${selector}" matches none of the agent’s own servers.`)
}
