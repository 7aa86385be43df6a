import type { IncomingMessage } from 'node:http'
import { type HostAndPort, parseHostAndPort } from '@sallyport/core'

const HTTP_PORT = 80
/** The path stays as it is written: it may only not say anything about the host. */
const ABSOLUTE_FORM = /^http:\/\/([^/?#@\\]+)([/?][^#]*)?$/i

/** Where a request goes, and the path that the server is asked for. */
export interface RequestTarget {
  readonly target: HostAndPort
  readonly path: string
}

/** Parses `http://host:port/path`. */
export function parseAbsoluteForm(url: string): RequestTarget | undefined {
  const [, authority, rest = '/'] = ABSOLUTE_FORM.exec(url) ?? []
  const target = authority === undefined ? undefined : parseHostAndPort(authority, HTTP_PORT)
  return target && { target, path: rest.startsWith('/') ? rest : `/${rest}` }
}

/** Parses the target of a request that came through a tunnel, in which only the host of the tunnel is meant. */
export function parseTunnelled(url: string, target: HostAndPort): RequestTarget | undefined {
  if (url.startsWith('/')) return { target, path: url }
  const parsed = parseAbsoluteForm(url)
  return parsed !== undefined && isSameTarget(parsed.target, target) ? parsed : undefined
}

/** Whether the Host header names the target: a server of many hosts answers for the one in the header. */
export function namesSameHost({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>, target: HostAndPort): boolean {
  const hosts = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === 'host')
  // HTTP/1.0 may do without one, and node:http requires it of HTTP/1.1.
  return hosts.length <= 1 && hosts.every((host) => isSameTarget(parseHostAndPort(host, HTTP_PORT), target))
}

const isSameTarget = (one: HostAndPort | undefined, other: HostAndPort): boolean =>
  one?.host === other.host && one.port === other.port
