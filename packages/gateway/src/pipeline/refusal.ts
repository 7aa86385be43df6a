import { SallyportError } from '@sallyport/core'
import type { Answer } from './call.ts'
import type { JudgedCall } from './steps/call-decider.ts'

/** What a call is told that was judged and may not be made. */
export function toDenialError({ decision: { decisive } }: JudgedCall): SallyportError {
  const verdict = decisive?.verdict
  const code = verdict?.outcome === 'deny' ? verdict.code : 'APPROVAL_REQUIRED'
  return new SallyportError(code, verdict?.reason ?? 'Refused.')
}

/** The server has done its work: whoever asked must not take this for a call that was never made. */
export function withholdResult(reason: string, cause?: SallyportError): Answer {
  const error = new SallyportError('RESULT_WITHHELD', `The call was made, but ${reason}`, {
    hint: 'Its result is withheld. Look at what it did before you make it again.',
    cause,
  })
  return { kind: 'failure', error }
}
