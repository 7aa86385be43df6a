import { SallyportError } from '@sallyport/core'
import type { Answer } from './call.ts'

/** The server has done its work: whoever asked must not take this for a call that was never made. */
export function withheld(cause: SallyportError): Answer {
  const error = new SallyportError(
    'RESULT_WITHHELD',
    `The call was made, but its end could not be recorded: ${cause.message}`,
    {
      hint: 'Its result is withheld. Look at what it did before you make it again.',
      cause,
    },
  )
  return { kind: 'failure', error }
}
