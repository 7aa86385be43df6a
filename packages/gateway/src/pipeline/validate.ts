import { ALLOW, type Step, type Verdict } from '@sallyport/core'
import type { CallContext } from './case.ts'
import { checkDuplicateKeys } from './twin-keys.ts'

/** The request says one thing only, and its arguments are what the tool takes. */
export const validateStep: Step<CallContext> = {
  name: 'validate',
  evaluate: ({ params, checked }) => {
    const verdict = checkDuplicateKeys(params)
    if (verdict !== ALLOW) return verdict
    return checked.outcome === 'ask' ? allowUnchecked(checked) : checked
  },
}

const passing = new WeakMap<Verdict, Verdict>()

/** What could not be checked is asked about by the last step, which knows whether somebody has approved it. */
function allowUnchecked(checked: Verdict): Verdict {
  const known = passing.get(checked)
  if (known) return known
  const verdict: Verdict = { outcome: 'allow', ...(checked.reason !== undefined && { reason: checked.reason }) }
  passing.set(checked, verdict)
  return verdict
}
