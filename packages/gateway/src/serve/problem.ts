import type { ServerResponse } from 'node:http'
import type { ErrorCode, SallyportError } from '@sallyport/core'

/** How the admin plane tells what went wrong, whatever the route. */
export interface Problem {
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly hint?: string }
}

export function problemOf({ code, message, hint }: SallyportError): Problem {
  return { error: { code, message, ...(hint !== undefined && { hint }) } }
}

export function sendProblem(
  response: ServerResponse,
  error: SallyportError,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return
  const body = JSON.stringify(problemOf(error))
  response.writeHead(error.kind.http, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...headers,
  })
  response.end(body)
}
