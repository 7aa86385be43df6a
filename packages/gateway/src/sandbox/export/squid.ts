import { type AddressRange, type HostRule, isAddress, listNonPublicRanges } from '@sallyport/core'
import { formatComment } from './comment.ts'
import { PROXY_PORTS } from './deployment.ts'

const NOTICE = [
  'A forward proxy with the network policy of `sandbox.proxied.allow`, for Squid 5 or later. Written by `sallyport sandbox export --to squid`: run it again when the policy changes.',
  `Port ${PROXY_PORTS.PROXIED} is network mode PROXIED: the listed hosts at their ports. Port ${PROXY_PORTS.FULL} is FULL: public addresses. NONE has no port. Whoever can reach a port has its mode, so let each server reach one of them, and nothing else: without that, this is no boundary.`,
  'Covered, and tested with Squid 5.7: hosts and ports of CONNECT and of plain requests, by exact name; addresses in any notation; names that lead to private, loopback, link-local, metadata or other special addresses; names that change their address between two requests.',
  'Not covered: public addresses of the machine that Squid runs on (add them to the lists `refused` below); a TLS handshake that names another host than CONNECT did; limits on bytes and connections; open tunnels, which survive a changed configuration (restart Squid); the label of a session, which only the gateway knows.',
]

/** Addresses in front of which no line of a list gets too long. */
const LINE_LENGTH = 110

export interface SquidPlace {
  /** The address of both ports; `undefined` for all addresses. */
  readonly listen: string | undefined
  readonly isContainer: boolean
}

/** What Squid needs in a container: its own folders may be read-only there. */
const IN_CONTAINER = [
  '# In a container.',
  'access_log stdio:/dev/stdout',
  'cache_log /dev/stderr',
  'max_filedescriptors 65536',
  'shutdown_lifetime 2 seconds',
  '',
]

export function exportSquid(allow: readonly HostRule[], { listen, isContainer }: SquidPlace): string {
  const at = listen === undefined ? '' : `${listen}:`
  return [
    formatComment(NOTICE),
    `http_port ${at}${PROXY_PORTS.PROXIED} name=proxied`,
    `http_port ${at}${PROXY_PORTS.FULL} name=full`,
    'acl proxied myportname proxied',
    'acl full myportname full',
    '',
    '# Only HTTP and tunnels: Squid also speaks FTP and others.',
    'acl tunnel method CONNECT',
    'acl web proto HTTP',
    'http_access deny manager',
    'http_access deny !tunnel !web',
    '',
    ...formatRules(allow),
    '',
    ...formatRefusals(allow),
    '',
    'http_access allow proxied',
    'http_access allow full',
    'http_access deny all',
    '',
    '# The address that was checked is the one that is contacted: no name is looked up twice within a minute.',
    'positive_dns_ttl 5 minutes',
    'negative_dns_ttl 1 minute',
    '# Nothing of one client is kept for another, or shown to a server.',
    'cache deny all',
    'forwarded_for delete',
    'pinger_enable off',
    '',
    ...(isContainer ? IN_CONTAINER : []),
  ].join('\n')
}

/** Decides by the name alone, so that a name which is refused is never looked up. */
function formatRules(allow: readonly HostRule[]): readonly string[] {
  const title =
    '# The hosts of the list. With -n, Squid compares names only: else a reverse lookup could pass an address.'
  if (allow.length === 0) return ['# The list is empty.', 'http_access deny proxied']
  return [
    title,
    ...allow.flatMap((rule, index) => formatRule(rule, `rule_${index + 1}`)),
    ...allow.map((_rule, index) => `acl listed any-of rule_${index + 1}`),
    'http_access deny proxied !listed',
  ]
}

function formatRule({ host, isWildcard, ports }: HostRule, name: string): readonly string[] {
  const shown = host.includes(':') ? `[${host}]` : host
  return [
    `acl ${name}_host dstdomain -n ${isWildcard ? '.' : ''}${shown}`,
    ...(isWildcard ? [`acl ${name}_parent dstdomain -n ${shown}`] : []),
    `acl ${name}_port port ${ports.join(' ')}`,
    `acl ${name} all-of ${name}_host ${isWildcard ? `!${name}_parent ` : ''}${name}_port`,
  ]
}

/** A listed address is left out of the refused ones at its own ports only. */
function formatRefusals(allow: readonly HostRule[]): readonly string[] {
  const listed = allow.filter(({ host }) => isAddress(host))
  const ports = [...new Set(listed.flatMap((rule) => rule.ports))].sort((one, other) => one - other)
  const at = (port: number): readonly string[] =>
    listed.filter((rule) => rule.ports.includes(port)).map(({ host }) => host)
  return [
    '# Addresses that are not public, after the name was resolved. One such address of a name is enough.',
    ...formatList('refused', []),
    ...ports.flatMap((port) => [
      `acl port_${port} port ${port}`,
      `# Without ${at(port).join(', ')}, as listed.`,
      ...formatList(`refused_${port}`, at(port)),
    ]),
    ...ports.flatMap((port) => formatDenials(`port_${port}`, `refused_${port}`)),
    ...formatDenials(ports.map((port) => `!port_${port}`).join(' '), 'refused'),
  ]
}

const formatDenials = (ports: string, list: string): readonly string[] =>
  FAMILIES.map((family) => ['http_access deny', ports, `${list}_${family}`].filter((part) => part !== '').join(' '))

const FAMILIES = ['ipv4', 'ipv6'] as const

/**
 * Squid keeps a list in a tree that needs ranges without an overlap, takes 0.0.0.0 and :: for any address in a range,
 * and counts IPv4 addresses as IPv6. So each kind has a list of its own, and these two addresses are single ones.
 */
function formatList(name: string, without: readonly string[]): readonly string[] {
  const ranges = listNonPublicRanges(without)
  return FAMILIES.flatMap((family) => {
    const lines: string[] = []
    for (const range of ranges
      .filter(({ first }) => first.includes(':') === (family === 'ipv6'))
      .flatMap(formatRange)) {
      const line = lines.at(-1)
      if (line !== undefined && line.length + 1 + range.length <= LINE_LENGTH)
        lines[lines.length - 1] = `${line} ${range}`
      else lines.push(`acl ${name}_${family} dst ${range}`)
    }
    return lines
  })
}

function formatRange({ first, last }: AddressRange): readonly string[] {
  if (first === '0.0.0.0') return ['0.0.0.0/32', `0.0.0.1-${last}`]
  if (first === '::') return ['::/128', `::1-${last}`]
  return [first === last ? first : `${first}-${last}`]
}
