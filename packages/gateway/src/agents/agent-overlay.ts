import type { JsonObject } from '@sallyport/core'
import type { HostContext, NativeConfig, NativeFile, NativeScope, NativeServer } from './agent-adapter.ts'
import type { ServerSource, SourceSearch } from './server-sources.ts'

/** A stdio server that is a window of the gateway. Nothing secret is in it. */
export interface WindowCommand {
  readonly command: string
  readonly args: readonly string[]
}

/** What a file of the agent's own says. */
export interface ParsedNativeFile {
  readonly file: NativeFile
  readonly config: NativeConfig
}

export interface OverlayRequest {
  /** The folder of the run, private and gone after it. */
  readonly folder: string
  readonly host: HostContext
  /** The servers that the agent is to have, in its own shape, and no others. */
  readonly servers: readonly NativeServer[]
  /** Those among them that are ours: the gateway approves their calls, and nobody needs to be asked before. */
  readonly ours: readonly string[]
  /** In the order in which the agent reads them. */
  readonly native: readonly ParsedNativeFile[]
  /** The arguments of the user. */
  readonly args: readonly string[]
}

/** A folder of the user's that is shown to the agent in another place, by links, without some of its entries. */
export interface Mirror {
  readonly source: string
  readonly path: string
  readonly except: readonly string[]
}

/** How the agent is started so that it has the servers of the request. Paths are relative to the folder of the run. */
export interface Overlay {
  readonly args: readonly string[]
  /** Added to the user's; undefined takes a variable away. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly files: Readonly<Record<string, JsonObject>>
  readonly mirrors: readonly Mirror[]
  /** What a person should know before the run. */
  readonly notes: readonly string[]
}

/** The means by which an agent gets other servers for one run. */
export interface AgentOverlay {
  /** Flags of the agent that would undo the overlay: whoever gives one is told so. */
  readonly reservedFlags: readonly string[]
  /** Commands of the agent that use servers which no overlay concerns: of a process that runs already, of a client. */
  readonly reservedCommands?: readonly string[]
  /** Everywhere it takes servers from. */
  readonly sources: readonly ServerSource[]
  /** Whether something may bring a server of this name, where it would be taken for ours. */
  mayNameServer?(name: string, search: SourceSearch): Promise<boolean>
  /** The flag among these arguments whose value brings servers besides; it may say other things too. */
  findWideningFlag?(args: readonly string[]): string | undefined
  /** Whose files it reads all the same: a server of ours must not have the name of one in them. */
  readonly remainingScopes: readonly NativeScope[]
  /** Why none of its own entries can be passed on for one run, where that is so. */
  readonly noNativeReason?: string
  /** Whether these arguments start it for a person, to whom it shows what a server asks; absent: it never does. */
  isAttended?(args: readonly string[]): boolean
  /** Our window as the agent writes a server, with what lets calls wait for a person (AG-17). */
  createEntry(window: WindowCommand): JsonObject
  overlay(request: OverlayRequest): Overlay
}

/** How long an agent is told to wait for a call: longer than any approval should take. */
export const CALL_TIMEOUT_S = 3_600

export const STARTUP_TIMEOUT_S = 60
