import type { JsonObject, Principal, Verdict } from '@sallyport/core'
import type { Grant, LabelHolder, SessionLabel } from '../../governance/governance.ts'
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
  /** The label by which the call is decided. */
  readonly label: SessionLabel
  /** Whose label that is, and what it was then: if it changes, the decision is no longer valid. */
  readonly holder: LabelHolder
  readonly seen: SessionLabel
  /** What this call itself raised: that alone does not change the decision about it. */
  readonly raised?: OwnRaise | undefined
  /** The rules with which it is already counted as in flight: limits must not count it twice. */
  readonly counted?: ToolRules | undefined
}

/** A label before and after a call raised it. */
export interface OwnRaise {
  readonly from: SessionLabel
  readonly to: SessionLabel
}
