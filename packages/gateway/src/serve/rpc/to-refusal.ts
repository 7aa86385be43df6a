import { SallyportError } from '@sallyport/core'

/** What is answered to what went wrong: of a bug no more than its incident. */
export function toRefusal(error: unknown, onBug: (bug: unknown) => string): SallyportError {
  if (error instanceof SallyportError) return error
  return new SallyportError('INTERNAL', `Something broke inside the gateway (incident ${onBug(error)}).`)
}
