import { createPassThroughStep, type ModeRules, type Step } from '@sallyport/core'
import type { Approvals } from '../governance/governance.ts'
import { approveStep } from './approve.ts'
import type { CallContext } from './case.ts'
import { argumentsStep } from './judge-arguments.ts'
import { type CallGauge, limitsStep } from './limits.ts'
import { modeStep } from './mode-step.ts'
import { pinStep } from './pin.ts'
import { type ListingContext, selectStep } from './select.ts'
import type { ToolLimits } from './tool-limits.ts'
import { validateStep } from './validate.ts'
import { withEnforceFlag } from './watched.ts'

/** What a list and a call both ask. */
export const listingSteps = (mode: () => ModeRules): readonly Step<ListingContext>[] => [
  selectStep,
  modeStep(mode),
  withEnforceFlag(pinStep, ({ policy }) => policy),
]

/** What only a call asks, after the above. */
export const callSteps = ({ gauge, tools, approvals }: CallStepsOptions): readonly Step<CallContext>[] => [
  validateStep,
  createPassThroughStep('permission'),
  createPassThroughStep('label'),
  withEnforceFlag(argumentsStep, ({ rules }) => rules.policy),
  limitsStep(gauge, tools),
  withEnforceFlag(approveStep(approvals), ({ rules }) => rules.policy),
]

export interface CallStepsOptions {
  readonly gauge: CallGauge
  readonly tools: ToolLimits
  readonly approvals: Pick<Approvals, 'grantFor'>
}
