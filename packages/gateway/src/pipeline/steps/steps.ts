import {
  ALLOW,
  evaluateMode,
  type ModeRules,
  type PolicyValue,
  quoteForShell,
  type Step,
  type ToolPolicy,
  type Verdict,
} from '@sallyport/core'
import { type Offer, reviewName } from '../../catalog/catalog.ts'
import type { Approvals } from '../../governance/governance.ts'
import { withEnforceFlag } from '../rules/with-enforce-flag.ts'
import { approveStep } from './approve-step.ts'
import { argumentsStep } from './arguments-step.ts'
import type { CallContext } from './call-context.ts'
import { checkDuplicateKeys } from './duplicate-keys.ts'
import { type LabelStepOptions, labelStep } from './label-step.ts'
import { type CallGauge, limitsStep } from './limits-step.ts'
import { findBrokenPin } from './pin-state.ts'
import { type ListingContext, selectStep } from './select-step.ts'
import type { ToolLimits } from './tool-limits.ts'

/** The steps for lists and calls. */
export const listingSteps = (mode: () => ModeRules): readonly Step<ListingContext>[] => [
  selectStep,
  modeStep(mode),
  withEnforceFlag(pinStep, ({ policy }) => policy),
]

/** The additional steps for calls. They run after the steps above. */
export const callSteps = ({ gauge, tools, approvals, ...options }: CallStepsOptions): readonly Step<CallContext>[] => [
  validateStep,
  withEnforceFlag(labelStep(options), ({ rules }) => rules.policy),
  withEnforceFlag(argumentsStep, ({ rules }) => rules.policy),
  limitsStep(gauge, tools),
  withEnforceFlag(approveStep(approvals), ({ rules }) => rules.policy),
]

export interface CallStepsOptions extends LabelStepOptions {
  readonly gauge: CallGauge
  readonly tools: ToolLimits
  readonly approvals: Pick<Approvals, 'grantFor'>
}

/** Checks the current mode. A lockdown is enforced even with `enforce: false`. */
function modeStep(state: () => ModeRules): Step<ListingContext> {
  const evaluate = ({ policy }: ListingContext): Verdict => evaluateMode(policy, state())
  const step: Step<ListingContext> = { name: 'mode', evaluate }
  const optional = withEnforceFlag(step, ({ policy }) => policy)
  return { name: 'mode', evaluate: (listed) => (state().mode === 'LOCKDOWN' ? step : optional).evaluate(listed) }
}

/** Checks that the request is unambiguous, and that its arguments match the input schema. */
const validateStep: Step<CallContext> = {
  name: 'validate',
  evaluate: ({ params, checked }) => {
    const verdict = checkDuplicateKeys(params)
    if (verdict !== ALLOW) return verdict
    return checked.outcome === 'ask' ? allowUnchecked(checked) : checked
  },
}

const passing = new WeakMap<Verdict, Verdict>()

/** If arguments could not be checked, the last step asks a person: it knows whether somebody has approved the call. */
function allowUnchecked(checked: Verdict): Verdict {
  const known = passing.get(checked)
  if (known) return known
  const verdict: Verdict = { outcome: 'allow', ...(checked.reason !== undefined && { reason: checked.reason }) }
  passing.set(checked, verdict)
  return verdict
}

/** A changed definition is refused until a person accepts it. */
const pinStep: Step<{ readonly offer: Offer; readonly policy: ToolPolicy }> = {
  name: 'pin',
  evaluate: ({ offer, policy }) => {
    const broken = findBrokenPin(offer, policy)
    return broken ? denial(offer, policy, broken) : ALLOW
  },
}

function denial(offer: Offer, { pin: pins }: ToolPolicy, { value, rule }: PolicyValue<string>): Verdict {
  const { server, kind, name, through } = offer
  const isOne = pins.every((other) => other.value === value)
  const what = isOne
    ? `Server ${server} changed ${NOUNS[kind]}${kind === 'instructions' ? '' : ` ${through?.name ?? name}`} after it was reviewed`
    : `Entries of tools.yaml pin different definitions of ${name} of server ${server}`
  const reason = `${what} (definition_changed). It is refused until a person accepts it: sallyport tools accept ${quoteForShell(reviewName(through ?? offer))}`
  return { outcome: 'deny', code: 'DEFINITION_CHANGED', reason, ...(rule && { rule }) }
}

const NOUNS: Readonly<Record<Offer['kind'], string>> = {
  tool: 'the definition of',
  prompt: 'the prompt',
  resource: 'the description of the resource',
  template: 'the description of the template',
  instructions: 'its instructions',
  question: 'the definition of',
}
