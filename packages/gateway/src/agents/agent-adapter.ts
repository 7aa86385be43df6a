import type { Json, JsonObject, ToolRef } from '@sallyport/core'
import type { FilteredConfig } from './agent-mcp-filter.ts'

/** Where an agent looks for its files: who runs it, on what, and in which folder. */
export interface HostContext {
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
  /** The user's home folder. */
  readonly home: string
  readonly cwd: string
}

/** `user`: for every project; `project`: in the repository, for everybody; `local`: this user's, for this project. */
export type NativeScope = 'user' | 'project' | 'local'

/** A file of the agent's own. It is read, and never opened for anything else (AG-2). */
export interface NativeFile {
  readonly path: string
  readonly scope: NativeScope
  /** The folder whose part of the file is meant, where one file holds those of many. */
  readonly project?: string
}

export interface NativeServer {
  readonly name: string
  /** Verbatim: every field of theirs, variables unexpanded. */
  readonly entry: JsonObject
}

export interface NativeConfig {
  readonly servers: readonly NativeServer[]
  /** All that the file says, unknown keys and their order kept. */
  readonly document: JsonObject
  /** The keys of the document that lead to the servers. A key may hold dots: Amp's does. */
  readonly serversPath: readonly string[]
  /** What stands among the servers and is a part of the agent itself: no selection concerns it. */
  readonly builtInNames: readonly string[]
  /** What stands among the servers and cannot be one, and what else is wrong with the file. */
  readonly problems: readonly string[]
}

/** An entry as it would stand under `mcp_servers` in our config.yaml. */
export type ImportedServer =
  | {
      readonly ok: true
      readonly config: Readonly<Record<string, Json>>
      /** What could not be taken over, for a person to read. It quotes keys, never values. */
      readonly notes: readonly string[]
    }
  | { readonly ok: false; readonly why: string }

/** The keys of an entry with which an agent narrows a server down to some tools. */
export interface NativeToolFilter {
  /** A list of the only tools that are offered. */
  readonly include?: string
  /** A list of tools that are not offered; it wins. */
  readonly exclude?: string
  /** When the include list means all tools nevertheless: with a `*` in it, or while it is empty. */
  readonly all?: '*' | 'if empty'
}

/** What a launch can hold the agent to. */
export interface Enforcement {
  /** `strict`: it gets our server and no other; `partial`: some others stay; `none`: it has no means for one run. */
  readonly level: 'strict' | 'partial' | 'none'
  readonly text: string
}

/** Everything that is peculiar to one kind of agent (AG-1). */
export interface AgentAdapter {
  readonly id: string
  readonly title: string
  readonly aliases: readonly string[]
  readonly supportsMcp: boolean
  /** Its name in PATH; nothing where it is not started from there. */
  readonly program: string | undefined
  readonly enforcement: Enforcement
  readonly toolFilter: NativeToolFilter | undefined
  defaultMcpConfigPath(place: HostContext): string | undefined
  /** In the order in which they are read; of two servers with one name the later one counts. */
  nativeFiles(place: HostContext): readonly NativeFile[]
  /** Throws AGENT_CONFIG_INVALID with line and column where the text cannot be understood. */
  getMcpConfig(text: string, file: NativeFile): NativeConfig
  toServer(server: NativeServer): ImportedServer
  filterAvailableMcpTools(
    config: NativeConfig,
    selection: readonly string[] | undefined,
    tools: readonly ToolRef[],
  ): FilteredConfig
}
