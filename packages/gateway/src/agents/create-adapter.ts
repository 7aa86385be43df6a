import type { JsonObject } from '@sallyport/core'
import type {
  AgentAdapter,
  AgentResults,
  Enforcement,
  HostContext,
  NativeFile,
  NativeToolFilter,
} from './agent-adapter.ts'
import { applyAgentMcpFilter } from './agent-mcp-filter.ts'
import { locateValue, type NativeSyntax, parseNativeFile, parseServers } from './native-servers.ts'
import { type EntryShape, translateEntry } from './translate-entry.ts'

/** The specifics of an agent, as data. */
export interface AdapterDefinition {
  readonly id: string
  readonly title: string
  readonly aliases?: readonly string[]
  readonly program?: string
  readonly enforcement: Enforcement
  readonly syntax: NativeSyntax
  readonly files: (host: HostContext) => readonly NativeFile[]
  /** The keys that lead to the servers. */
  readonly serversPath: (file: NativeFile) => readonly string[]
  /** The servers are a list of entries with a name. */
  readonly isList?: boolean
  /** Whether an entry is a part of the agent itself and not an MCP server. */
  readonly isBuiltIn?: (entry: JsonObject) => boolean
  readonly entries: EntryShape
  readonly toolFilter?: NativeToolFilter
  /** What is known about large results. */
  readonly results?: Partial<AgentResults>
}

/** If nothing is known of an agent. */
export const UNKNOWN_RESULTS: AgentResults = { maxCharacters: 8_000, needsStructure: true, clientNames: [] }

export function createAdapter(definition: AdapterDefinition): AgentAdapter {
  const { id, title, aliases = [], program, enforcement, toolFilter, files } = definition
  return {
    ...{ id, title, aliases, program, enforcement, toolFilter },
    supportsMcp: true,
    results: { ...UNKNOWN_RESULTS, ...definition.results },
    defaultMcpConfigPath: (host) => files(host).find(({ scope }) => scope === 'user')?.path,
    nativeFiles: files,
    getMcpConfig: (text, file) =>
      parseServers(parseNativeFile(text, file.path, definition.syntax), {
        locate: (keys) => locateValue(text, definition.syntax, { path: file.path, keys }),
        serversPath: definition.serversPath(file),
        isList: definition.isList ?? false,
        isBuiltIn: definition.isBuiltIn ?? (() => false),
      }),
    toServer: (server) => translateEntry(server, definition.entries),
    filterAvailableMcpTools: (config, selection, tools) =>
      applyAgentMcpFilter(config, selection, { tools, toolFilter }),
  }
}
