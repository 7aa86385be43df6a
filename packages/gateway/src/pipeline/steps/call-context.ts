import type { JsonObject, Principal, Verdict } from '@sallyport/core'
import type { Grant } from '../../governance/governance.ts'
import type { Call } from '../call.ts'
import type { ToolRules } from '../rules/tool-rules.ts'

/** A call as the steps see it: with its rules, and with facts that were determined before the steps run. */
export interface CallContext {
  readonly call: Call
  readonly principal: Principal
  readonly params: JsonObject
  readonly rules: ToolRules
  /** The result of checking its arguments against the input schema. */
  readonly checked: Verdict
  /** The approval of a person, if there is one. */
  readonly grant: Grant | undefined
  /** The rules with which it is already counted as in flight: limits must not count it twice. */
  readonly counted?: ToolRules | undefined
}
