import { SallyportError } from '@sallyport/core'

/** The error for the client: for a bug, only its incident id. */
export function toRefusal(error: unknown, onBug: (bug: unknown) => string): SallyportError {
  if (error instanceof SallyportError) return error
  return new SallyportError('INTERNAL', `Something broke inside the gateway (incident ${onBug(error)}).`)
}
