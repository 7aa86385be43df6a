import type { JsonObject } from '@sallyport/core'
import type { HostContext, NativeConfig, NativeFile, NativeScope, NativeServer } from './agent-adapter.ts'
import type { ServerSource, SourceSearch } from './server-sources.ts'

/** The command of a stdio server that is a window of the gateway. It contains no secret. */
export interface WindowCommand {
  readonly command: string
  readonly args: readonly string[]
}

/** A parsed file of the agent. */
export interface ParsedNativeFile {
  readonly file: NativeFile
  readonly config: NativeConfig
}

export interface OverlayRequest {
  /** The run folder; private, and removed after the run. */
  readonly folder: string
  readonly host: HostContext
  /** The only servers that the agent should have, in its own format. */
  readonly servers: readonly NativeServer[]
  /** Names of the servers that are ours: the gateway handles approvals, so the agent need not ask. */
  readonly ours: readonly string[]
  /** In the order in which the agent reads them. */
  readonly native: readonly ParsedNativeFile[]
  /** The arguments of the user. */
  readonly args: readonly string[]
}

/** A folder of the user that is mirrored by links at another path, without some of its entries. */
export interface Mirror {
  readonly source: string
  readonly path: string
  readonly except: readonly string[]
}

/** How to start the agent so that it has the servers of the request. Paths are relative to the run folder. */
export interface Overlay {
  readonly args: readonly string[]
  /** Added to the user's environment; `undefined` removes a variable. */
  readonly environment: Readonly<Record<string, string | undefined>>
  readonly files: Readonly<Record<string, JsonObject>>
  readonly mirrors: readonly Mirror[]
  /** What a person should know before the run. */
  readonly notes: readonly string[]
}

/** How to give an agent other servers for one run. */
export interface AgentOverlay {
  /** Flags of the agent that would undo the overlay: they are refused with an error. */
  readonly reservedFlags: readonly string[]
  /** Commands of the agent that use servers which an overlay cannot control: of a running process, or of a client. */
  readonly reservedCommands?: readonly string[]
  /** All sources of servers that the agent uses. */
  readonly sources: readonly ServerSource[]
  /** Whether another source may define a server with this name, which would then be treated as ours. */
  mayNameServer?(name: string, search: SourceSearch): Promise<boolean>
  /** The flag among these arguments whose value adds servers. The same flag may be harmless with another value. */
  findWideningFlag?(args: readonly string[]): string | undefined
  /** Scopes whose files the agent still reads: our server must not have the name of a server in them. */
  readonly remainingScopes: readonly NativeScope[]
  /** Why the agent's own entries cannot be passed on for one run, if that is so. */
  readonly noNativeReason?: string
  /**
   * Whether these arguments start it interactively, so that it shows questions of servers to a person; missing: never.
   */
  isAttended?(args: readonly string[]): boolean
  /** Our window in the agent's entry format, with timeouts that let calls wait for a person (AG-17). */
  createEntry(window: WindowCommand): JsonObject
  overlay(request: OverlayRequest): Overlay
}

/** The agent's timeout for a call: longer than any approval should take. */
export const CALL_TIMEOUT_S = 3_600

export const STARTUP_TIMEOUT_S = 60
