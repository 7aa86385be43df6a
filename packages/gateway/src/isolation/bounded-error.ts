import { cutText, isJsonObject, type Json, type JsonObject, SallyportError } from '@sallyport/core'
import { SHAPED_META } from '@sallyport/kit'

/** So much of what a server says of its own failure is repeated. */
const LONGEST_MESSAGE = 1_000
const UNKNOWN_ERROR = -32_603

/** An error of a server that is too long, with what it says as far as that is usual. */
export function boundedError(error: Json | undefined, rest: string): JsonObject {
  const { code, message } = isJsonObject(error) ? error : {}
  const said = typeof message === 'string' ? message : JSON.stringify(message ?? error ?? null)
  return {
    code: Number.isSafeInteger(code) ? (code as number) : UNKNOWN_ERROR,
    message: `${cutText(said, LONGEST_MESSAGE)} [Cut by the gateway. ${rest}]`,
    data: { [SHAPED_META]: `Left out. ${rest}` },
  }
}

/** The same error, without the words of a server that it may quote. */
export const withoutQuotes = ({ code }: SallyportError): SallyportError =>
  new SallyportError(code, 'The server did not answer, and what it says of that is withheld.', {
    hint: 'Only values of the schema in isolation.returns go back. `sallyport servers` tells the operator more.',
  })

/** Where only values that validate may cross, a server's own words of what went wrong do not (ISO-11). */
export const withheldError = (rest: string): SallyportError =>
  new SallyportError('ISOLATION_FAILED', 'The tool failed, and what it says of that is withheld.', {
    hint: `Only values of the schema in isolation.returns go back. ${rest}`,
  })
