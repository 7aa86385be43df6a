import { type ModeState, openGate, type Step } from '@sallyport/core'
import type { Approvals } from '../governance/governance.ts'
import { approve } from './approve.ts'
import type { Case } from './case.ts'
import { judgeArguments } from './judge-arguments.ts'
import { type CallGauge, limits } from './limits.ts'
import { modeStep } from './mode-step.ts'
import { pin } from './pin.ts'
import { type Listed, select } from './select.ts'
import type { ToolLimits } from './tool-limits.ts'
import { validate } from './validate.ts'
import { watched } from './watched.ts'

/** What a list and a call both ask. */
export const listingSteps = (mode: () => ModeState): readonly Step<Listed>[] => [
  select,
  modeStep(mode),
  watched(pin, ({ policy }) => policy),
]

/** What only a call asks, after the above. */
export const callSteps = ({ gauge, tools, approvals }: CallStepsOptions): readonly Step<Case>[] => [
  validate,
  openGate('permission'),
  openGate('label'),
  watched(judgeArguments, ({ rules }) => rules.policy),
  limits(gauge, tools),
  watched(approve(approvals), ({ rules }) => rules.policy),
]

export interface CallStepsOptions {
  readonly gauge: CallGauge
  readonly tools: ToolLimits
  readonly approvals: Pick<Approvals, 'grantFor'>
}
