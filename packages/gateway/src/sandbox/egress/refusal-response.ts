import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Refusal } from './egress-control.ts'

const REQUEST_REFUSED = 'http_request_denied'
const ERROR_TYPES: Readonly<Record<Refusal['status'], string>> = {
  400: 'http_request_error',
  403: REQUEST_REFUSED,
  502: 'destination_unavailable',
  503: 'connection_limit_reached',
}

/** Says in the body, and in a header that programs know (RFC 9209), why there is no connection. */
export function refuseRequest(response: ServerResponse, refusal: Refusal): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const body = refusalText(refusal)
  response.writeHead(refusal.status, { ...refusalHeaders(refusal), 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
}

/** The same, as the answer to CONNECT. */
export function refuseTunnel(client: Socket, refusal: Refusal): void {
  const body = refusalText(refusal)
  const headers = { ...refusalHeaders(refusal), 'Content-Length': Buffer.byteLength(body), Connection: 'close' }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  client.write(`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}\r\n${lines.join('')}\r\n${body}`)
  client.destroySoon()
}

const refusalText = ({ reason }: Refusal): string => `No connection through the egress proxy: ${reason}.\n`

const refusalHeaders = ({ status, reason }: Refusal): Record<string, string> => ({
  'Content-Type': 'text/plain; charset=utf-8',
  'Proxy-Status': `sallyport; error=${ERROR_TYPES[status]}; details="${reason}"`,
})
