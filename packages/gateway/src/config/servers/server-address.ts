import type { IssueLog } from '../reading/issue-log.ts'
import type { ConfigNode } from '../reading/normalize.ts'

const EXPECTED_URL = 'expected an address such as "https://host/mcp"'

/** The address as it was written, once it is known to be usable. */
export function readUrl(address: string, spot: ConfigNode, log: IssueLog): string | undefined {
  const problem = findUrlProblem(address)
  if (problem === undefined) return address
  log.error(spot, problem)
}

function findUrlProblem(address: string): string | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined
  if (url === undefined) return `${EXPECTED_URL}; got something that is no URL.`
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return `${EXPECTED_URL}; got another scheme than http(s).`
  if (url.username !== '' || url.password !== '')
    return 'expected a URL without a user name and password. Put them into "headers".'
  return undefined
}

/** Headers that belong to the transport: another value would break the protocol or the connection. */
const TRANSPORT_HEADER =
  /^(accept|accept-encoding|connection|content-.*|expect|host|keep-alive|last-event-id|mcp-.*|te|trailer|transfer-encoding|upgrade)$/i

export const isTransportHeader = (name: string): boolean => TRANSPORT_HEADER.test(name)

export function readHeaders(
  headers: Readonly<Record<string, string>>,
  spot: ConfigNode,
  log: IssueLog,
): Readonly<Record<string, string>> {
  const kept: [string, string][] = []
  const seen = new Map<string, string>()
  for (const [name, value] of Object.entries(headers)) {
    const at = spot.children.get(name) ?? spot
    const folded = name.toLowerCase()
    const problem = findHeaderProblem(name, value, seen.get(folded))
    seen.set(folded, name)
    if (problem !== undefined) log.error(at, problem)
    else if (isTransportHeader(name)) log.warn(at, 'the gateway sets this header itself; the value is ignored.')
    else kept.push([name, value])
  }
  return Object.fromEntries(kept)
}

function findHeaderProblem(name: string, value: string, twin: string | undefined): string | undefined {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name)) return 'expected a header name of letters, digits and "-".'
  if (twin !== undefined) return `this is the same header as "${twin}". Keep one of them.`
  // A line break would begin another header. Bytes above are read differently by every server.
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return 'expected a value on one line, in Latin-1.'
  return undefined
}
