import type { ServerResponse } from 'node:http'
import type { SallyportError } from '@sallyport/core'
import type { RequestId, RpcError } from '../json-rpc.ts'
import { RETRY_AFTER_HEADERS } from './body-budget.ts'

export interface HttpRefusal {
  readonly status: number
  readonly error: RpcError
  readonly id?: RequestId | null
  readonly headers?: Readonly<Record<string, string>>
}

/** How long a refused client may continue to send its body. */
const DRAIN_TIMEOUT_MS = 1_000

export function toHttpRefusal(error: SallyportError): HttpRefusal {
  return {
    status: error.kind.http,
    error: { code: error.kind.rpc, message: error.text },
    headers: refusalHeaders(error),
  }
}

function refusalHeaders({ code }: SallyportError): Readonly<Record<string, string>> {
  if (code === 'VERB_REFUSED') return { allow: 'POST, GET, DELETE' }
  return code === 'RATE_LIMITED' || code === 'OVERLOADED' ? RETRY_AFTER_HEADERS : {}
}

export function sendRefusal(response: ServerResponse, { status, error, id = null, headers = {} }: HttpRefusal): void {
  if (response.headersSent || response.destroyed) return
  const body = JSON.stringify({ jsonrpc: '2.0', id, error })
  const length = Buffer.byteLength(body)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': length, ...headers }).end(body)
  const { req: request } = response
  if (request.complete) return
  // Closing while the body still arrives would reset the connection, and the client would lose the answer.
  request.resume()
  const timer = setTimeout(() => request.complete || request.destroy(), DRAIN_TIMEOUT_MS).unref()
  request.once('close', () => clearTimeout(timer))
}
