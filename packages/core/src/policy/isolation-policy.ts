import type { JsonObject } from '../json/json.ts'
import { compileNameGlob } from '../text/name-glob.ts'

/** How the result of an isolated call reaches its caller. */
export const ISOLATION_STRATEGIES = ['exact', 'bounded', 'extract', 'agent'] as const
export type IsolationStrategy = (typeof ISOLATION_STRATEGIES)[number]

/** What a caller gets where its strategy fails: a bounded result, or the error. */
export const ISOLATION_FALLBACKS = ['bounded', 'error'] as const
export type IsolationFallback = (typeof ISOLATION_FALLBACKS)[number]

/** How an isolated call runs, as far as somebody says it. */
export interface IsolationFields {
  readonly strategy?: IsolationStrategy
  readonly fallback?: IsolationFallback
  /** How many characters of what the tool gives go back to the caller at most; `exact` knows no budget. */
  readonly budget?: number
  /** A JSON Schema: only a value that validates crosses back. */
  readonly returns?: JsonObject
  readonly maxTokens?: number
  readonly maxTurns?: number
  /** In milliseconds. */
  readonly maxTime?: number
  /** The sub-agent may call a READ tool again. */
  readonly allowRecall?: boolean
}

/** What the entry of a server says of its tools. */
export interface IsolatedServer {
  readonly isolated?: boolean | undefined
  /** Names, or patterns as in `includeTools`. */
  readonly isolatedTools?: readonly string[] | undefined
}

/** By the pair of server and tool alone: no name is ever split. What tools.yaml says of a tool itself wins over this. */
export function shouldIsolateTool(server: IsolatedServer | undefined, tool: string): boolean {
  if (server === undefined) return false
  return server.isolated === true || (server.isolatedTools?.some((pattern) => compileNameGlob(pattern)(tool)) ?? false)
}
