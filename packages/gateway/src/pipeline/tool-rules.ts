import type { Mode, Ruled, ToolPolicy, Verdict } from '@sallyport/core'
import type { Call } from './call.ts'

/** A policy made ready for calls: what can be compiled once is. */
export interface ToolRules {
  readonly policy: ToolPolicy
  readonly mode: Mode
  /** Whether somebody has to be asked, in the mode that is in force. */
  readonly approval: Ruled<boolean>
  /** Paths, rules for arguments, secrets. */
  readonly judgeArguments: (call: Call) => Verdict
  /** Why nobody has to be asked about this call, though the tool needs approval. */
  readonly autoApproved: (call: Call) => Ruled<true> | undefined
}
