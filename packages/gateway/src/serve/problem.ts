import type { ServerResponse } from 'node:http'
import { ERRORS, type ErrorCode, isJsonObject, type JsonObject, SallyportError } from '@sallyport/core'

/** An error as JSON, for another process of ours or for a client of the admin plane. */
export interface Problem {
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly hint?: string }
}

export function toProblem({ code, message, hint }: SallyportError): Problem {
  return { error: { code, message, ...(hint !== undefined && { hint }) } }
}

/** The error in the JSON; `undefined` if this version does not know its code. */
export function parseProblem(value: unknown): SallyportError | undefined {
  const error = isJsonObject(value) ? value.error : undefined
  if (!isJsonObject(error)) return undefined
  const code = readErrorCode(error)
  if (code === undefined) return undefined
  return new SallyportError(code, String(error.message), typeof error.hint === 'string' ? { hint: error.hint } : {})
}

/** The socket itself refuses with a JSON-RPC error, which has our code in its data. */
function readErrorCode({ code, data }: JsonObject): ErrorCode | undefined {
  const named = isJsonObject(data) ? data.code : code
  return typeof named === 'string' && Object.hasOwn(ERRORS, named) ? (named as ErrorCode) : undefined
}

export function sendProblem(
  response: ServerResponse,
  error: SallyportError,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return
  const body = JSON.stringify(toProblem(error))
  response.writeHead(error.kind.http, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    ...headers,
  })
  response.end(body)
}
