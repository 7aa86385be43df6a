// Part of every platform, but not of the type library of ES2023. It knows IDN (UTS 46) and all ways to write an address.
declare const URL: new (url: string) => { readonly hostname: string }

/** What could end the host of a URL early, or is removed from it. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a URL parser drops them without an error
const NOT_IN_HOST = /[\u0000-\u0020\u007f%/\\?#@:]/
const BRACKETED = /^\[[0-9a-f:.]+\]$/i
const NAME = /^(?=.{1,253}$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/
const PORT = /^[1-9]\d{0,4}$/
const MAX_PORT = 65_535

/** A host and a port, with the host in the form of `parseHost`. */
export interface HostAndPort {
  readonly host: string
  readonly port: number
}

/**
 * The one form of a host: a name in lower case and ASCII without a dot at the end, an IPv4 address with four numbers
 * (`127.1` and `0x7f000001` are 127.0.0.1), or a shortened IPv6 address without brackets. `undefined` if it is not valid.
 */
export function parseHost(written: string): string | undefined {
  if (written.startsWith('[')) return BRACKETED.test(written) ? hostOfUrl(written)?.slice(1, -1) : undefined
  if (written.length > 1_000 || NOT_IN_HOST.test(written)) return undefined
  const host = hostOfUrl(written)?.replace(/\.$/, '')
  return host !== undefined && NAME.test(host) ? host : undefined
}

/** Parses `host:port`. Without a port it is the `defaultPort`, if there is one. */
export function parseHostAndPort(written: string, defaultPort?: number): HostAndPort | undefined {
  const [, name, portText] = /^(\[[^\]]*\]|[^:]*)(?::(.*))?$/s.exec(written) ?? []
  const port = portText === undefined ? defaultPort : parsePort(portText)
  const host = name === undefined ? undefined : parseHost(name)
  return host === undefined || port === undefined ? undefined : { host, port }
}

/** The opposite of `parseHostAndPort`. */
export const formatHostAndPort = ({ host, port }: HostAndPort): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`

function parsePort(text: string): number | undefined {
  return PORT.test(text) && Number(text) <= MAX_PORT ? Number(text) : undefined
}

function hostOfUrl(written: string): string | undefined {
  try {
    return new URL(`http://${written}/`).hostname
  } catch {
    return undefined
  }
}
