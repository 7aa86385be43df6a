import type { IncomingMessage } from 'node:http'
import { formatHostAndPort, type HostAndPort } from '@sallyport/core'

/** They are about one connection, or written anew for the next one (RFC 9110, 7.6.1). */
const NOT_FORWARDED: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'proxy-status',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

const METHODS_WITHOUT_BODY: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE'])

type Message = Pick<IncomingMessage, 'headers' | 'rawHeaders'>

/** How the body of a message ends, in a header of our own; `undefined` for an encoding that we cannot pass on. */
function framingHeaders({ headers }: Message): readonly string[] | undefined {
  const { 'transfer-encoding': encoding, 'content-length': length } = headers
  if (encoding !== undefined) return encoding.toLowerCase() === 'chunked' ? ['Transfer-Encoding', 'chunked'] : undefined
  return length === undefined ? [] : ['Content-Length', length]
}

/** The headers for the server, as node:http takes them. `undefined` if the request cannot be passed on. */
export function toServerHeaders(
  request: IncomingMessage,
  target: HostAndPort,
  { isWebSocket }: { readonly isWebSocket: boolean },
): readonly string[] | undefined {
  const framing = framingHeaders(request)
  if (framing === undefined) return undefined
  const host = target.port === 80 ? formatHostAndPort(target).slice(0, -':80'.length) : formatHostAndPort(target)
  const connection = isWebSocket ? ['Connection', 'Upgrade', 'Upgrade', 'websocket'] : ['Connection', 'close']
  // Without a length, node:http would announce a body of unknown length for these methods.
  const isEmpty = framing.length === 0 && !METHODS_WITHOUT_BODY.has(request.method ?? '')
  return [
    ...['Host', host],
    ...endToEndHeaders(request),
    ...(isEmpty ? ['Content-Length', '0'] : framing),
    ...connection,
  ]
}

/** The headers for the client. `undefined` if the response cannot be passed on. */
export function toClientHeaders(response: IncomingMessage): string[] | undefined {
  const { 'transfer-encoding': encoding, 'content-length': length } = response.headers
  // The connection to the client is framed by node:http.
  if (encoding !== undefined && encoding.toLowerCase() !== 'chunked') return undefined
  return [...endToEndHeaders(response), ...(length === undefined ? [] : ['Content-Length', length])]
}

function endToEndHeaders({ headers, rawHeaders }: Message): readonly string[] {
  const named = (headers.connection ?? '').split(',').map((name) => name.trim().toLowerCase())
  return rawHeaders.filter((_, index) => {
    const name = (rawHeaders[index - (index % 2)] ?? '').toLowerCase()
    return !NOT_FORWARDED.has(name) && !named.includes(name)
  })
}
