import type { ToolEntry, ToolPolicy } from '@sallyport/core'
import type { PinState } from '../steps/pin-state.ts'

/** What people see before they decide about a tool or another offer of a server. */
export interface ReviewedTool {
  readonly policy: ToolPolicy
  /** All entries that match it, also by a pattern. */
  readonly entries: readonly ToolEntry[]
  /** Whether one of them names only this tool. */
  readonly hasOwnEntry: boolean
  /** Those whose fields can be changed without changing another tool. */
  readonly ownEntries: readonly ToolEntry[]
  readonly pin: PinState
  readonly findings: readonly string[]
  /** Findings that nobody has accepted: each use needs approval. */
  readonly openFindings: readonly string[]
}
