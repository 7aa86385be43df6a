import { isLoopback } from '@sallyport/core'
import type { GatewaySection } from './config-schema.ts'
import { DEFAULT_GATEWAY } from './defaults.ts'
import type { IssueLog } from './issue-log.ts'
import type { ConfigNode } from './normalise.ts'
import type { GatewaySettings } from './settings.ts'

export function readGateway(section: GatewaySection, spot: ConfigNode, log: IssueLog): GatewaySettings {
  const host = section.host ?? DEFAULT_GATEWAY.host
  const at = spot.children.get('host') ?? spot
  const allowRemote = section.allowRemote ?? DEFAULT_GATEWAY.allowRemote
  if (!isLoopback(host) && !allowRemote && at.origin !== 'unresolved') {
    log.error(
      at,
      'this address can be reached from other machines. Whoever reaches it can try to use your tools; the connection is not encrypted. ' +
        'Use 127.0.0.1, or write "allow_remote: true" beside it if a TLS proxy and tokens stand in front.',
    )
  }
  checkEach(section.allowedHosts, spot.children.get('allowedHosts'), (value, at) => checkHost(value, at, log))
  checkEach(section.allowedOrigins, spot.children.get('allowedOrigins'), (value, at) => checkOrigin(value, at, log))
  return {
    host,
    port: section.port ?? DEFAULT_GATEWAY.port,
    allowRemote,
    naming: section.naming ?? DEFAULT_GATEWAY.naming,
    allowedHosts: section.allowedHosts ?? [],
    allowedOrigins: section.allowedOrigins ?? [],
    startupWait: section.startupWait ?? DEFAULT_GATEWAY.startupWait,
    linger: section.linger ?? DEFAULT_GATEWAY.linger,
    maxBodyBytes: section.maxBody ?? DEFAULT_GATEWAY.maxBodyBytes,
    maxSessions: section.maxSessions ?? DEFAULT_GATEWAY.maxSessions,
    maxCallsInFlight: section.maxCallsInFlight ?? DEFAULT_GATEWAY.maxCallsInFlight,
  }
}

function checkEach(
  values: readonly string[] | undefined,
  spot: ConfigNode | undefined,
  check: (value: string, at: ConfigNode) => void,
): void {
  for (const [index, value] of (values ?? []).entries()) {
    const at = spot?.children.get(index)
    if (at !== undefined) check(value, at)
  }
}

/** Exact names only: a wildcard would open the door that the list closes (DNS rebinding). */
function checkHost(value: string, at: ConfigNode, log: IssueLog): void {
  if (/^(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(:\d{1,5})?$/i.test(value)) return
  log.error(at, 'expected a host name as it stands in the Host header, such as "tools.example.org" or "10.0.0.7:4747".')
}

function checkOrigin(value: string, at: ConfigNode, log: IssueLog): void {
  if (URL.canParse(value) && new URL(value).origin === value) return
  log.error(at, 'expected an exact origin in lower case, without a path, such as "https://tools.example.org".')
}
