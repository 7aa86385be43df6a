import { SallyportError } from '@sallyport/core'
import type { Answer } from './call.ts'
import type { JudgedCall } from './steps/call-decider.ts'

/** The error for a call that was denied. */
export function toDenialError({ decision: { decisive } }: JudgedCall): SallyportError {
  const verdict = decisive?.verdict
  const code = (verdict?.outcome !== 'allow' && verdict?.code) || 'APPROVAL_REQUIRED'
  return new SallyportError(code, verdict?.reason ?? 'Refused.')
}

/** The call was made, but its result is withheld. The caller must not think that the call was never made. */
export function withholdResult(reason: string, cause?: SallyportError): Answer {
  const error = new SallyportError('RESULT_WITHHELD', `The call was made, but ${reason}`, {
    hint: 'Its result is withheld. Check what it did before you make it again.',
    cause,
  })
  return { kind: 'failure', error }
}
