import { evaluateMode, type ModeRules, type Step, type Verdict } from '@sallyport/core'
import type { ListingContext } from './select.ts'
import { withEnforceFlag } from './watched.ts'

/** The mode in force. That rules are only watched does not hold against a lockdown. */
export function modeStep(state: () => ModeRules): Step<ListingContext> {
  const evaluate = ({ policy }: ListingContext): Verdict => evaluateMode(policy, state())
  const step: Step<ListingContext> = { name: 'mode', evaluate }
  const softly = withEnforceFlag(step, ({ policy }) => policy)
  return { name: 'mode', evaluate: (listed) => (state().mode === 'LOCKDOWN' ? step : softly).evaluate(listed) }
}
