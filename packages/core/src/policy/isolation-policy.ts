import type { JsonObject } from '../json/json.ts'
import { compileNameGlob } from '../text/name-glob.ts'

/** How the result of an isolated call reaches its caller. */
export const ISOLATION_STRATEGIES = ['exact', 'bounded', 'extract', 'agent'] as const
export type IsolationStrategy = (typeof ISOLATION_STRATEGIES)[number]

/** What a caller gets if the strategy fails: a bounded result, or the error. */
export const ISOLATION_FALLBACKS = ['bounded', 'error'] as const
export type IsolationFallback = (typeof ISOLATION_FALLBACKS)[number]

/** The settings of an isolated call, as far as they are written. */
export interface IsolationFields {
  readonly strategy?: IsolationStrategy
  readonly fallback?: IsolationFallback
  /** The maximum number of characters of the result that go back to the caller. `exact` has no budget. */
  readonly budget?: number
  /** A JSON Schema: only a value that matches it is returned. */
  readonly returns?: JsonObject
  readonly maxTokens?: number
  readonly maxTurns?: number
  /** In milliseconds. */
  readonly maxTime?: number
  /** The sub-agent may call a READ tool again. */
  readonly allowRecall?: boolean
}

/** What a server's entry says about isolation. */
export interface IsolatedServer {
  readonly isolated?: boolean | undefined
  /** Names or patterns, as in `includeTools`. */
  readonly isolatedTools?: readonly string[] | undefined
}

/** Decides by server and tool; names are never split. A setting for the tool in tools.yaml takes precedence. */
export function shouldIsolateTool(server: IsolatedServer | undefined, tool: string): boolean {
  if (server === undefined) return false
  return server.isolated === true || (server.isolatedTools?.some((pattern) => compileNameGlob(pattern)(tool)) ?? false)
}
