import { ALLOW, type Step } from '@sallyport/core'
import type { Case } from './case.ts'
import { twinKeys } from './twin-keys.ts'

/** The request says one thing only, and its arguments are what the tool takes. */
export const validate: Step<Case> = {
  name: 'validate',
  judge: ({ params, checked }) => {
    const verdict = twinKeys(params)
    return verdict === ALLOW ? checked : verdict
  },
}
