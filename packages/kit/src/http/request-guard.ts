import type { IncomingMessage } from 'node:http'
import { quoteText, SallyportError } from '@sallyport/core'

export interface GuardOptions {
  /** As given to `listen`. */
  readonly host: string
  readonly port: number
  /** Whole values of the Host header, with the port where there is one. */
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: readonly string[]
}

type Asked = Pick<IncomingMessage, 'rawHeaders' | 'url'>

const LOOPBACK = ['127.0.0.1', 'localhost', '[::1]']
const WILDCARDS = ['0.0.0.0', '::', '']
/** Of two of them Node keeps one, and whoever stands before us may have judged the other. */
const SINGLE = ['host', 'origin', 'authorization', 'mcp-session-id', 'mcp-protocol-version', 'mcp-method', 'mcp-name']

/**
 * Keeps web pages out: one whose name was rebound to our address still sends its own Host, and every page sends its
 * Origin. Throws what is wrong.
 */
export function createRequestGuard({ host, port, allowedHosts, allowedOrigins }: GuardOptions): (asked: Asked) => void {
  const own = WILDCARDS.includes(host) ? [] : [host.includes(':') ? `[${host}]` : host]
  const addresses = [...LOOPBACK, ...own].flatMap((name) => (port === 80 ? [name, `${name}:80`] : [`${name}:${port}`]))
  const hosts = new Set([...addresses, ...allowedHosts].map((name) => name.toLowerCase()))
  const origins = new Set([...[...hosts].map((name) => `http://${name}`), ...allowedOrigins])
  return ({ rawHeaders, url = '/' }) => {
    const found = readSingles(rawHeaders)
    requireHost(found.get('host'), hosts)
    if (!url.startsWith('/'))
      throw new SallyportError('HOST_REFUSED', 'The request target is no path.', { hint: 'Connect without a proxy.' })
    requireOrigin(found.get('origin'), origins)
  }
}

/** Reads the raw list, where what stands twice is seen twice. */
function readSingles(rawHeaders: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] ?? '').toLowerCase()
    if (!SINGLE.includes(name)) continue
    if (found.has(name)) throw new SallyportError('INVALID_REQUEST', `The header ${name} stands there twice.`)
    found.set(name, rawHeaders[at + 1] ?? '')
  }
  return found
}

function requireHost(host: string | undefined, hosts: ReadonlySet<string>): void {
  if (host !== undefined && hosts.has(host.toLowerCase())) return
  const given = host === undefined ? 'There is no Host header' : `The Host ${quoteText(host, 100)} is not ours`
  throw new SallyportError('HOST_REFUSED', `${given}; expected one of those that this server answers to.`, {
    hint: 'Connect to the address that serveHttp gave, or add the exact value to its allowedHosts.',
  })
}

function requireOrigin(origin: string | undefined, origins: ReadonlySet<string>): void {
  if (origin === undefined || origins.has(origin)) return
  throw new SallyportError('ORIGIN_REFUSED', `The origin ${quoteText(origin, 100)} may not call this server.`, {
    hint: 'If that page is yours, add its exact origin to the allowedOrigins of serveHttp.',
  })
}
