import { type HostAndPort, parseHostAndPort } from './host.ts'
import { isAddress } from './ip-address.ts'

/** The ports that a rule without one allows. */
const USUAL_PORTS: readonly number[] = [80, 443]

/** An entry of an allow list: `host`, `host:port`, `*.domain`, an address, or an IPv6 address in brackets. */
export interface HostRule {
  /** In the form of `parseHost`. */
  readonly host: string
  /** Whether it allows the hosts below this one, and not this one. */
  readonly isWildcard: boolean
  readonly ports: readonly number[]
}

/** `undefined` if it is not valid. Addresses must be in their usual form, so that a reader sees which one is allowed. */
export function parseHostRule(written: string): HostRule | undefined {
  const isWildcard = written.startsWith('*.')
  const rest = isWildcard ? written.slice(2) : written
  const hasPort = /:[^:\]]*$/.test(rest)
  const parsed = hasPort ? parseHostAndPort(rest) : parseHostAndPort(rest, 443)
  if (parsed === undefined) return undefined
  const { host, port } = parsed
  if (isAddress(host) && (isWildcard || !isUsualForm(rest, host))) return undefined
  return { host, isWildcard, ports: hasPort ? [port] : USUAL_PORTS }
}

/** The opposite of `parseHostRule`: without ports if they are the usual ones. */
export function formatHostRule({ host, isWildcard, ports }: HostRule): string {
  const shown = `${isWildcard ? '*.' : ''}${host.includes(':') ? `[${host}]` : host}`
  const [port] = ports
  return ports.length === 1 && port !== undefined ? `${shown}:${port}` : shown
}

/** Whether a rule lists the host, which is in the form of `parseHost`. */
export function isListed(rules: readonly HostRule[], { host, port }: HostAndPort): boolean {
  return rules.some((rule) => rule.ports.includes(port) && matchesHost(rule, host))
}

function matchesHost(rule: HostRule, host: string): boolean {
  if (!rule.isWildcard) return rule.host === host
  return host.endsWith(`.${rule.host}`) && host.length > rule.host.length + 1
}

const isUsualForm = (written: string, host: string): boolean =>
  written.startsWith('[') || written.split(':')[0] === host
