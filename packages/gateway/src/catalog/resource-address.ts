/** The scheme of our addresses. No server owns it, whatever its URIs look like. */
const SCHEME_HEAD = 'sallyport+'

/** The URI or template of one server, under an address that names the server: `sallyport+docs:file:///a.txt`. */
export const toResourceAddress = (server: string, uri: string): string => `${SCHEME_HEAD}${server}:${uri}`

export const isResourceAddress = (uri: string): boolean => uri.startsWith(SCHEME_HEAD)

export interface ResourceAddress {
  readonly server: string
  /** The server's own URI. */
  readonly uri: string
}

/** `undefined` if it is not complete. The id of a server has no colon, so there is only one way to read it. */
export function parseResourceAddress(address: string): ResourceAddress | undefined {
  const colon = address.indexOf(':')
  if (!isResourceAddress(address) || colon < 0) return undefined
  return { server: address.slice(SCHEME_HEAD.length, colon), uri: address.slice(colon + 1) }
}
