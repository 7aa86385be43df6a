import { cutText, type ErrorCode, isJsonObject, type Json, type JsonObject, SallyportError } from '@sallyport/core'
import { SHAPED_META } from '@sallyport/kit'

/** So much of what a server says of its own failure is repeated. */
const MAX_MESSAGE_LENGTH = 1_000
const UNKNOWN_ERROR = -32_603

/** An error of a server that is too long, with what it says as far as that is usual. */
export function shortenError(error: Json | undefined, rest: string): JsonObject {
  const { code, message } = isJsonObject(error) ? error : {}
  const said = typeof message === 'string' ? message : JSON.stringify(message ?? error ?? null)
  return {
    code: Number.isSafeInteger(code) ? (code as number) : UNKNOWN_ERROR,
    message: `${cutText(said, MAX_MESSAGE_LENGTH)} [Cut by the gateway. ${rest}]`,
    data: { [SHAPED_META]: `Left out. ${rest}` },
  }
}

/** Errors whose every word is ours. */
const OWN_MESSAGE_CODES: readonly ErrorCode[] = [
  'ISOLATION_FAILED',
  'ISOLATION_LIMIT',
  'EXECUTOR_MISSING',
  'CALL_CANCELLED',
  'AUDIT_UNAVAILABLE',
  'INTERNAL',
]

/** The same error, without words of a server or a provider that it may quote. */
export function withoutQuotedText(error: SallyportError): SallyportError {
  const { code } = error
  if (OWN_MESSAGE_CODES.includes(code)) return error
  const hint = code === 'MODEL_UNAVAILABLE' ? error.hint : '`sallyport explain` tells the operator more.'
  return new SallyportError(code, 'The call failed, and what was said of that is withheld.', {
    hint: `Only values of the schema in isolation.returns go back. ${hint}`,
  })
}

/** Where only values that validate may cross, a server's own words of what went wrong do not (ISO-11). */
export const withheldError = (): SallyportError =>
  new SallyportError('ISOLATION_FAILED', 'The tool gave no result, and what it says of that is withheld.', {
    hint: 'Only values of the schema in isolation.returns go back. `sallyport explain` tells the operator more.',
  })

/** A value that is cut is no longer one that validates. */
export const valueTooLarge = (length: number, budget: number): SallyportError =>
  new SallyportError('ISOLATION_LIMIT', `The value has ${length} characters; ${budget} may go back.`, {
    hint: 'Raise isolation.budget, or set limits such as maxLength and maxItems in isolation.returns.',
  })
