import { quoteText, SallyportError } from '@sallyport/core'

export interface ListeningAddress {
  /** As passed to `listen`: a name, an IPv4 address, or an IPv6 address without brackets. */
  readonly host: string
  readonly port: number
}

export interface RequestGuardOptions {
  readonly listening: readonly ListeningAddress[]
  /** Complete values of the Host header, with the port if it has one. */
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: readonly string[]
  /** The hints for refusals: where to set `allowedHosts` and `allowedOrigins`. */
  readonly hints: { readonly host: string; readonly origin: string }
}

/** The part of node:http's IncomingMessage that is checked. */
export interface GuardedRequest {
  readonly rawHeaders: readonly string[]
  readonly url?: string | undefined
}

/** Returns why a request must be refused, or `undefined`. */
export type RequestGuard = (request: GuardedRequest) => SallyportError | undefined

const LOOPBACK_NAMES = ['127.0.0.1', 'localhost', '[::1]']
const WILDCARDS = new Set(['0.0.0.0', '::', ''])

/** Refuses web pages: a page that uses DNS rebinding still sends its own Host, and every page sends its Origin. */
export function createRequestGuard(options: RequestGuardOptions): RequestGuard {
  const hosts = new Set([...options.listening.flatMap(listHosts), ...options.allowedHosts.map(lower)])
  const origins = new Set([
    ...options.listening.flatMap(listOrigins),
    ...options.allowedHosts.map((host) => `http://${lower(host)}`),
    ...options.allowedOrigins,
  ])
  const { hints } = options
  return (request) => {
    const found = readGuardedHeaders(request.rawHeaders)
    return (
      checkHost(found, hosts, hints.host) ??
      checkTarget(request.url, found.host) ??
      checkOrigin(found, origins, hints.origin) ??
      checkAuthorization(found)
    )
  }
}

/** The listening IP address itself is always allowed as Host: it needs no DNS, so it cannot be rebound. */
function listHostNames({ host }: ListeningAddress): readonly string[] {
  if (WILDCARDS.has(host)) return LOOPBACK_NAMES
  return [...LOOPBACK_NAMES, host.includes(':') ? `[${lower(host)}]` : lower(host)]
}

function listHosts(address: ListeningAddress): readonly string[] {
  const withPort = listHostNames(address).map((name) => `${name}:${address.port}`)
  return address.port === 80 ? [...withPort, ...listHostNames(address)] : withPort
}

/** Browsers always omit the default port in an origin. */
function listOrigins(address: ListeningAddress): readonly string[] {
  const port = address.port === 80 ? '' : `:${address.port}`
  return listHostNames(address).map((name) => `http://${name}${port}`)
}

interface GuardedHeaders {
  host: string | undefined
  hostCount: number
  origin: string | undefined
  originCount: number
  authorizationCount: number
}

/** Reads the raw headers: `headers` has only the first of two Host headers. */
function readGuardedHeaders(rawHeaders: readonly string[]): GuardedHeaders {
  const found: GuardedHeaders = {
    host: undefined,
    hostCount: 0,
    origin: undefined,
    originCount: 0,
    authorizationCount: 0,
  }
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string
    if (name.length === 4 && lower(name) === 'host') {
      found.host = rawHeaders[at + 1]
      found.hostCount++
    } else if (name.length === 6 && lower(name) === 'origin') {
      found.origin = rawHeaders[at + 1]
      found.originCount++
    } else if (name.length === 13 && lower(name) === 'authorization') found.authorizationCount++
  }
  return found
}

function checkHost(
  { host, hostCount: count }: GuardedHeaders,
  hosts: ReadonlySet<string>,
  remedy: string,
): SallyportError | undefined {
  const example = hosts.values().next().value ?? 'localhost'
  const hint = `Connect to http://${example}, or ${remedy}`
  if (host === undefined) return hostRefused('The request has no Host header.', hint)
  if (count > 1) return hostRefused(`The request has ${count} Host headers; exactly one is accepted.`, hint)
  if (hosts.has(host) || hosts.has(lower(host))) return undefined
  return hostRefused(`The Host ${quote(host)} is not allowed here.`, hint)
}

/** A target like `http://evil/mcp` overrides the Host header (RFC 9112, 3.2.2), so both must be equal. */
function checkTarget(url: string | undefined, host: string | undefined): SallyportError | undefined {
  if (url === undefined || url.startsWith('/') || url === '*') return undefined
  const authority = /^http:\/\/([^/?#]*)/i.exec(url)?.[1]
  if (authority !== undefined && lower(authority) === lower(host ?? '')) return undefined
  return new SallyportError('HOST_REFUSED', 'The request target and the Host header name different hosts.', {
    hint: 'Send the path alone, or connect without a forward proxy.',
  })
}

function checkOrigin(
  { origin, originCount: count }: GuardedHeaders,
  origins: ReadonlySet<string>,
  hint: string,
): SallyportError | undefined {
  if (origin === undefined) return undefined
  if (count > 1) return originRefused(`The request has ${count} Origin headers; at most one is accepted.`, hint)
  if (origins.has(origin)) return undefined
  return originRefused(`The origin ${quote(origin)} may not call this server.`, hint)
}

/** Of two Authorization headers node:http uses the first, but a proxy in front of it may have checked the second. */
function checkAuthorization({ authorizationCount }: GuardedHeaders): SallyportError | undefined {
  if (authorizationCount <= 1) return undefined
  return new SallyportError(
    'INVALID_REQUEST',
    `The request has ${authorizationCount} Authorization headers; at most one is accepted.`,
    { hint: 'Send one token.' },
  )
}

const hostRefused = (message: string, hint: string): SallyportError =>
  new SallyportError('HOST_REFUSED', message, { hint })

const originRefused = (message: string, hint: string): SallyportError =>
  new SallyportError('ORIGIN_REFUSED', message, { hint: `If that page is yours, ${hint}` })

const lower = (text: string): string => text.toLowerCase()

const quote = (text: string): string => quoteText(text, 100)
