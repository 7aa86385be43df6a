import { type AddressBlock, formatHostAndPort, type HostRule, isAddress, NON_PUBLIC_BLOCKS } from '@sallyport/core'
import { stringify } from 'yaml'
import { formatComment } from './comment.ts'
import { PROXY_PORTS, YAML_STYLE } from './deployment.ts'

const NOTICE = [
  'A forward proxy with the network policy of `sandbox.proxied.allow`, for Envoy. Written by `sallyport sandbox export --to envoy`: run it again when the policy changes. Start it with `envoy --config-path <this file>`.',
  `Port ${PROXY_PORTS.PROXIED} is network mode PROXIED: the listed hosts at their ports. Port ${PROXY_PORTS.FULL} is FULL: public addresses. NONE has no port. Whoever can reach a port has its mode, so let each server reach one of them, and nothing else: without that, this is no boundary.`,
  'Covered, and tested with Envoy 1.40: hosts and ports of CONNECT and of plain requests, by exact name; literal addresses; names that lead to private, loopback, link-local, metadata or other special addresses.',
  'Weaker than Squid and the gateway’s own proxy: Envoy checks the first address of a name, and looks names up again in the background. Only IPv4 is used for names with both kinds of addresses. Let the network that Envoy is in refuse private addresses as well, as the Kubernetes export does.',
  'Not covered: public addresses of the machine that Envoy runs on; a TLS handshake that names another host than CONNECT did; limits on bytes and connections; open tunnels, which survive a changed configuration (restart Envoy); the label of a session, which only the gateway knows.',
]

const TYPE = 'type.googleapis.com'
const CACHE = {
  name: 'egress',
  dns_lookup_family: 'V4_PREFERRED',
  // The shortest time that Envoy allows between two lookups of a name.
  dns_refresh_rate: '60s',
  dns_min_refresh_rate: '60s',
  host_ttl: '60s',
}

const extension = (name: string, type: string, settings: object): object => ({
  name,
  typed_config: { '@type': `${TYPE}/${type}`, ...settings },
})

/** `listen` is the address of both ports. */
export function exportEnvoy(allow: readonly HostRule[], listen: string): string {
  const refused = formatRefusedAddresses(allow)
  const proxied = [...(allow.length === 0 ? [] : [routeTo('listed', allow.flatMap(formatDomains))]), REFUSED_HOSTS]
  const at = { listen, refused }
  const config = {
    static_resources: {
      listeners: [
        formatListener({ ...at, name: 'proxied', port: PROXY_PORTS.PROXIED, hosts: proxied }),
        formatListener({ ...at, name: 'full', port: PROXY_PORTS.FULL, hosts: [routeTo('all', ['*'])] }),
      ],
      clusters: [EGRESS],
    },
  }
  return `${formatComment(NOTICE)}\n${stringify(config, YAML_STYLE)}`
}

const EGRESS = {
  name: 'egress',
  lb_policy: 'CLUSTER_PROVIDED',
  connect_timeout: '10s',
  cluster_type: extension(
    'envoy.clusters.dynamic_forward_proxy',
    'envoy.extensions.clusters.dynamic_forward_proxy.v3.ClusterConfig',
    { dns_cache_config: CACHE },
  ),
}

const REFUSED_HOSTS = {
  name: 'refused',
  domains: ['*'],
  routes: [{ connect_matcher: {} }, { prefix: '/' }].map((match) => ({ match, direct_response: { status: 403 } })),
}

const routeTo = (name: string, domains: readonly string[]) => ({
  name,
  domains: [...domains],
  routes: [
    {
      match: { connect_matcher: {} },
      route: { cluster: 'egress', timeout: '0s', upgrade_configs: [{ upgrade_type: 'CONNECT', connect_config: {} }] },
    },
    { match: { prefix: '/' }, route: { cluster: 'egress', timeout: '0s' } },
  ],
})

/** Plain requests leave out the port if it is 80. */
function formatDomains({ host, isWildcard, ports }: HostRule): readonly string[] {
  return ports.flatMap((port) => {
    const written = `${isWildcard ? '*.' : ''}${formatHostAndPort({ host, port })}`
    return port === 80 ? [written, written.replace(/:80$/, '')] : [written]
  })
}

interface Listener {
  readonly name: string
  readonly listen: string
  readonly port: number
  readonly hosts: readonly object[]
  readonly refused: object
}

function formatListener({ name, listen, port, hosts, refused }: Listener): object {
  const settings = {
    stat_prefix: name,
    codec_type: 'HTTP1',
    http_protocol_options: { allow_absolute_url: true },
    strip_trailing_host_dot: true,
    upgrade_configs: [{ upgrade_type: 'CONNECT' }],
    route_config: { name, virtual_hosts: [...hosts] },
    http_filters: [
      extension(
        'envoy.filters.http.dynamic_forward_proxy',
        'envoy.extensions.filters.http.dynamic_forward_proxy.v3.FilterConfig',
        { dns_cache_config: CACHE, save_upstream_address: true },
      ),
      // After the name was looked up.
      extension('envoy.filters.http.rbac', 'envoy.extensions.filters.http.rbac.v3.RBAC', { rules: refused }),
      extension('envoy.filters.http.router', 'envoy.extensions.filters.http.router.v3.Router', {}),
    ],
  }
  const manager = extension(
    'envoy.filters.network.http_connection_manager',
    'envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager',
    settings,
  )
  const address = { socket_address: { address: listen, port_value: port } }
  return { name, address, filter_chains: [{ filters: [manager] }] }
}

/** A listed address is reached at its own ports only. */
function formatRefusedAddresses(allow: readonly HostRule[]): object {
  const blocked = { or_rules: { rules: NON_PUBLIC_BLOCKS.map((block) => matchAddress(block)) } }
  const listed = allow
    .filter(({ host }) => isAddress(host))
    .flatMap(({ host, ports }) =>
      ports.map((port) => matchAddress({ first: host, bits: host.includes(':') ? 128 : 32 }, port)),
    )
  const except = listed.length === 0 ? [] : [{ not_rule: { or_rules: { rules: listed } } }]
  const permissions = [{ and_rules: { rules: [blocked, ...except] } }]
  return { action: 'DENY', policies: { 'not public': { permissions, principals: [{ any: true }] } } }
}

const matchAddress = ({ first, bits }: AddressBlock, port?: number): object => ({
  matcher: extension(
    'envoy.rbac.matchers.upstream_ip_port',
    'envoy.extensions.rbac.matchers.upstream_ip_port.v3.UpstreamIpPortMatcher',
    {
      upstream_ip: { address_prefix: first, prefix_len: bits },
      ...(port !== undefined && { upstream_port_range: { start: port, end: port + 1 } }),
    },
  ),
})
