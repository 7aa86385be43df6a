import type { Json, JsonObject, ToolRef } from '@sallyport/core'
import type { FilteredConfig } from './agent-mcp-filter.ts'

/** What determines where an agent finds its files: environment, platform, home and working folder. */
export interface HostContext {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
  /** The user's home folder. */
  readonly home: string
  readonly cwd: string
}

/** `user`: for every project; `project`: in the repository, for everybody; `local`: this user's, for this project. */
export type NativeScope = 'user' | 'project' | 'local'

/** A file of the agent. It is opened only for reading (AG-2). */
export interface NativeFile {
  readonly path: string
  readonly scope: NativeScope
  /** The project folder whose section is used, if one file has sections for many projects. */
  readonly project?: string
}

export interface NativeServer {
  readonly name: string
  /** Unchanged: every field of the agent's entry, variables not expanded. */
  readonly entry: JsonObject
}

export interface NativeConfig {
  readonly servers: readonly NativeServer[]
  /** The whole file; unknown keys and the order of keys are preserved. */
  readonly document: JsonObject
  /** The keys of the document that lead to the servers. A key may contain dots, as Amp's does. */
  readonly serversPath: readonly string[]
  /** Entries among the servers that are parts of the agent itself: selections do not apply to them. */
  readonly builtInNames: readonly string[]
  /** Entries that are not valid servers, and other problems of the file. */
  readonly problems: readonly string[]
}

/** An entry as it would be under `mcp_servers` in our config.yaml. */
export type ImportedServer =
  | {
      readonly ok: true
      readonly config: Readonly<Record<string, Json>>
      /** What could not be translated, for a person to read. Notes quote keys, never values. */
      readonly notes: readonly string[]
    }
  | { readonly ok: false; readonly why: string }

/** The keys of an entry with which an agent limits a server to some tools. */
export interface NativeToolFilter {
  /** A list of the only tools that are offered. */
  readonly include?: string
  /** A list of tools that are not offered; it takes precedence. */
  readonly exclude?: string
  /** When the include list means all tools: if it contains `*`, or if it is empty. */
  readonly all?: '*' | 'if empty'
}

/** What a launch can enforce for the agent. */
export interface Enforcement {
  /**
   * `strict`: it gets our server and no other; `partial`: some others stay; `none`: it cannot be configured for one
   * run.
   */
  readonly level: 'strict' | 'partial' | 'none'
  readonly text: string
}

/** What an agent does with large results: docs/agents.md says how each number is known. */
export interface AgentResults {
  /** The characters of a result that certainly reach its model. It cuts longer ones, or writes them to a file. */
  readonly maxCharacters: number
  /** The same for errors, if they are cut earlier. */
  readonly maxErrorCharacters?: number
  /** The maximum number of lines, if they are counted too. */
  readonly maxLines?: number
  /** Whether it refuses a result without the structured content that the tool's output schema promises, or may do so. */
  readonly needsStructure: boolean
  /** The names with which it introduces itself; one that ends with `-` is the beginning of a name. */
  readonly clientNames: readonly string[]
}

/** Everything that is specific to one kind of agent (AG-1). */
export interface AgentAdapter {
  readonly id: string
  readonly title: string
  readonly aliases: readonly string[]
  readonly supportsMcp: boolean
  /** Its name in PATH; `undefined` if it is not started from there. */
  readonly program: string | undefined
  readonly enforcement: Enforcement
  readonly results: AgentResults
  readonly toolFilter: NativeToolFilter | undefined
  defaultMcpConfigPath(host: HostContext): string | undefined
  /** In the order in which the agent reads them; of two servers with the same name the later one applies. */
  nativeFiles(host: HostContext): readonly NativeFile[]
  /** Throws AGENT_CONFIG_INVALID with line and column if the text cannot be parsed. */
  getMcpConfig(text: string, file: NativeFile): NativeConfig
  toServer(server: NativeServer): ImportedServer
  filterAvailableMcpTools(
    config: NativeConfig,
    selection: readonly string[] | undefined,
    tools: readonly ToolRef[],
  ): FilteredConfig
}
