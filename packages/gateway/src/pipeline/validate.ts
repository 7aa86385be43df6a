import { ALLOW, type Step, type Verdict } from '@sallyport/core'
import type { Case } from './case.ts'
import { twinKeys } from './twin-keys.ts'

/** The request says one thing only, and its arguments are what the tool takes. */
export const validate: Step<Case> = {
  name: 'validate',
  judge: ({ params, checked }) => {
    const verdict = twinKeys(params)
    if (verdict !== ALLOW) return verdict
    return checked.outcome === 'ask' ? unchecked(checked) : checked
  },
}

const passing = new WeakMap<Verdict, Verdict>()

/** What could not be checked is asked about by the last step, which knows whether somebody has approved it. */
function unchecked(checked: Verdict): Verdict {
  const known = passing.get(checked)
  if (known) return known
  const verdict: Verdict = { outcome: 'allow', ...(checked.reason !== undefined && { reason: checked.reason }) }
  passing.set(checked, verdict)
  return verdict
}
