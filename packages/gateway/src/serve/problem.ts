import type { ErrorCode, SallyportError } from '@sallyport/core'

/** How the admin plane tells what went wrong, whatever the route. */
export interface Problem {
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly hint?: string }
}

export function problemOf({ code, message, hint }: SallyportError): Problem {
  return { error: { code, message, ...(hint !== undefined && { hint }) } }
}
