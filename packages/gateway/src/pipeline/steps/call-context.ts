import type { JsonObject, Principal, Verdict } from '@sallyport/core'
import type { Grant } from '../../governance/governance.ts'
import type { Call } from '../call.ts'
import type { ToolRules } from '../rules/tool-rules.ts'

/** A call as the steps see it: with the rules that govern it, and what was found out about it before they are asked. */
export interface CallContext {
  readonly call: Call
  readonly principal: Principal
  readonly params: JsonObject
  readonly rules: ToolRules
  /** What its input schema says to its arguments. */
  readonly checked: Verdict
  /** What somebody answered who was asked. */
  readonly grant: Grant | undefined
  /** By which rules it is among the calls under way already: it must not be crowded out by itself. */
  readonly counted?: ToolRules | undefined
}
