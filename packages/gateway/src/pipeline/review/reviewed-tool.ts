import type { ToolEntry, ToolPolicy } from '@sallyport/core'
import type { PinState } from '../steps/pin-state.ts'

/** What people see before they decide about a tool, or about anything else that a server offers. */
export interface ReviewedTool {
  readonly policy: ToolPolicy
  /** All that are about it, also by a pattern. */
  readonly entries: readonly ToolEntry[]
  /** Whether one of them names just this tool. */
  readonly hasOwnEntry: boolean
  readonly pin: PinState
  readonly findings: readonly string[]
  /** Those that nobody has accepted: each use asks. */
  readonly doubts: readonly string[]
}
