import type { IssueLog } from '../reading/issue-log.ts'
import type { ConfigNode } from '../reading/normalize.ts'

const EXPECTED_URL = 'expected an address such as "https://host/mcp"'

/** Returns the address as it was written. If it is not valid, it logs an error and returns `undefined`. */
export function readUrl(address: string, node: ConfigNode, log: IssueLog): string | undefined {
  const problem = findUrlProblem(address)
  if (problem === undefined) return address
  log.error(node, problem)
}

function findUrlProblem(address: string): string | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined) return `${EXPECTED_URL}; got something that is not a valid URL.`
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return `${EXPECTED_URL}; got another scheme than http(s).`
  if (url.username !== '' || url.password !== '')
    return 'expected a URL without a user name and password. Put them in "headers".'
  return undefined
}

/** Headers that the transport sets itself: another value would break the protocol or the connection. */
const TRANSPORT_HEADER =
  /^(accept|accept-encoding|connection|content-.*|expect|host|keep-alive|last-event-id|mcp-.*|te|trailer|transfer-encoding|upgrade)$/i

export const isTransportHeader = (name: string): boolean => TRANSPORT_HEADER.test(name)

export function readHeaders(
  headers: Readonly<Record<string, string>>,
  node: ConfigNode,
  log: IssueLog,
): Readonly<Record<string, string>> {
  const accepted: [string, string][] = []
  const seen = new Map<string, string>()
  for (const [name, value] of Object.entries(headers)) {
    const at = node.children.get(name) ?? node
    const folded = name.toLowerCase()
    const problem = findHeaderProblem(name, value, seen.get(folded))
    seen.set(folded, name)
    if (problem !== undefined) log.error(at, problem)
    else if (isTransportHeader(name)) log.warn(at, 'the gateway sets this header itself; the value is ignored.')
    else accepted.push([name, value])
  }
  return Object.fromEntries(accepted)
}

function findHeaderProblem(name: string, value: string, duplicate: string | undefined): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return 'expected a header name of letters, digits and "-".'
  if (duplicate !== undefined) return `this is the same header as "${duplicate}". Keep one of them.`
  // A line break would start another header. Servers disagree about characters beyond Latin-1.
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return 'expected a value on one line, in Latin-1.'
  return undefined
}
