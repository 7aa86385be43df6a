import { stringify } from 'yaml'
import { formatComment } from './comment.ts'
import {
  type Deployment,
  describeEntries,
  type Instance,
  listInstances,
  PROXY_PORTS,
  proxyPortOf,
  proxyVariables,
  YAML_STYLE,
} from './deployment.ts'
import { exportSquid } from './squid.ts'

/** The first port of this machine; every instance has one. */
const FIRST_PORT = 8101

const NOTICE = [
  'Servers in containers with the network modes of Sallyport, for Docker Compose 2.23.1 or later. Written by `sallyport sandbox export --to docker-compose`: run it again when the policy changes. Start it with `docker compose -f <this file> up -d`.',
  'Each server has a network that holds only `lo`, as in Sallyport’s own sandboxes (`network_mode: none`; a network with `internal: true` still reaches this machine). Two sockets in volumes are the only ways: `…-ingress` passes requests of the gateway in, `…-egress` leads to one port of the proxy. An instance in mode NONE has no `…-egress`.',
  'Covered: hosts, ports and addresses as the comment of the Squid configuration says (below, tested with Squid 5.7); UDP, DNS, TCP past the proxy, this machine and other containers (no network at all); capabilities, writable files of the image.',
  'Not covered: the network of an instance does not become narrower while it runs. Instead the gateway sends calls of sessions with private data to `url_isolated` only. Volumes and other data of the servers: add them, and never one that both instances of a server can write.',
  'The images are not Sallyport’s: SQUID_IMAGE needs `squid` (5 or later), SOCAT_IMAGE needs `socat` as its entry point. A server must listen on port and host of the variables PORT and HOST, or on that port of 127.0.0.1 anyway.',
]

export function exportCompose(deployment: Deployment): string {
  const instances = listInstances(deployment)
  const modes = (['PROXIED', 'FULL'] as const).filter((mode) => instances.some((instance) => instance.mode === mode))
  const url = ({ server }: Instance, index: number): string => `http://127.0.0.1:${FIRST_PORT + index}${server.path}`
  const file = {
    name: 'sallyport-servers',
    services: {
      ...formatEgress(modes),
      ...Object.assign({}, ...instances.map((instance, index) => formatInstance(instance, FIRST_PORT + index))),
    },
    networks: { ...(modes.length > 0 && { outside: {} }), front: {} },
    volumes: Object.fromEntries(
      [...modes.map((mode) => egressVolume(mode)), ...instances.map(ingressVolume)].map((name) => [name, {}]),
    ),
    ...(modes.length > 0 && { configs: { squid: { content: formatSquid(deployment) } } }),
  }
  const notice = [...NOTICE, 'The entries for config.yaml:', ...describeEntries(instances, url)]
  return `${formatComment(notice)}\n${stringify(file, YAML_STYLE)}`
}

/** A `$` would begin a variable of Compose. */
const formatSquid = ({ allow }: Deployment): string =>
  exportSquid(allow, { listen: '127.0.0.1', isContainer: true }).replaceAll('$', '$$$$')

type ProxyMode = keyof typeof PROXY_PORTS

const egressVolume = (mode: ProxyMode): string => `egress-${mode.toLowerCase()}`
const ingressVolume = ({ name }: Instance): string => `${name}-ingress`

const LIMITED = {
  cap_drop: ['ALL'],
  security_opt: ['no-new-privileges:true'],
  read_only: true,
  pids_limit: 256,
  restart: 'unless-stopped',
}

/** As the user `proxy` of Debian and of Squid's images. */
const SQUID_USER = 13

const EGRESS_PROXY = {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of Compose
  image: '${SQUID_IMAGE:-ubuntu/squid:latest}',
  entrypoint: ['squid', '-N', '-f', '/etc/squid/squid.conf'],
  user: `${SQUID_USER}:${SQUID_USER}`,
  configs: [{ source: 'squid', target: '/etc/squid/squid.conf' }],
  tmpfs: ['/run', '/var/log/squid', '/var/spool/squid'].map((path) => `${path}:uid=${SQUID_USER},gid=${SQUID_USER}`),
  ...LIMITED,
  // Compose writes the configuration into the container, and refuses that for a read-only one.
  read_only: false,
}

const formatSocat = (from: string, to: string, rest: object): object => ({
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of Compose
  image: '${SOCAT_IMAGE:-alpine/socat:latest}',
  command: [from, to],
  ...rest,
  ...LIMITED,
})

const listenOn = (path: string): string => `UNIX-LISTEN:${path},fork,mode=666,unlink-early`

/**
 * The ports of the proxy are on a loopback interface of its own, and a socket passes on each of them. The first socket
 * holds the network, so that a proxy that is restarted keeps it.
 */
function formatEgress(modes: readonly ProxyMode[]): Readonly<Record<string, object>> {
  const [first] = modes
  if (first === undefined) return {}
  const joined = { network_mode: `service:${egressVolume(first)}` }
  const sockets = modes.map((mode) => {
    const network = mode === first ? { networks: ['outside'] } : joined
    const rest = { ...network, volumes: [`${egressVolume(mode)}:/run/egress`] }
    return [
      egressVolume(mode),
      formatSocat(listenOn('/run/egress/egress.sock'), `TCP:127.0.0.1:${PROXY_PORTS[mode]}`, rest),
    ]
  })
  return { 'egress-proxy': { ...EGRESS_PROXY, ...joined }, ...Object.fromEntries(sockets) }
}

function formatInstance(instance: Instance, hostPort: number): Readonly<Record<string, object>> {
  const { name, mode, server } = instance
  const port = proxyPortOf(instance)
  const joined = { network_mode: `service:${name}-ingress` }
  const environment = {
    ...(port !== undefined && proxyVariables(`http://127.0.0.1:${port}`)),
    ...{ HOST: '127.0.0.1', PORT: String(server.port) },
    // Without a value: that of the shell that starts it.
    ...Object.fromEntries(server.env.map((variable) => [variable, null])),
  }
  const ingress = [`${ingressVolume(instance)}:/run/ingress`]
  return {
    [name]: {
      image: server.image,
      ...joined,
      environment,
      tmpfs: ['/tmp'],
      depends_on: [`${name}-ingress`, ...(mode === 'NONE' ? [] : [`${name}-egress`])],
      labels: { 'sallyport.server': server.server, 'sallyport.mode': mode },
      ...LIMITED,
    },
    // It holds the network, so that a server that is restarted keeps it.
    [`${name}-ingress`]: formatSocat(listenOn('/run/ingress/ingress.sock'), `TCP:127.0.0.1:${server.port}`, {
      network_mode: 'none',
      volumes: ingress,
    }),
    ...(mode !== 'NONE' && {
      [`${name}-egress`]: formatSocat(
        `TCP-LISTEN:${PROXY_PORTS[mode]},bind=127.0.0.1,fork,reuseaddr`,
        'UNIX-CONNECT:/run/egress/egress.sock',
        { ...joined, volumes: [`${egressVolume(mode)}:/run/egress`], depends_on: [egressVolume(mode), 'egress-proxy'] },
      ),
    }),
    [`${name}-front`]: formatSocat('TCP-LISTEN:8080,fork,reuseaddr', 'UNIX-CONNECT:/run/ingress/ingress.sock', {
      networks: ['front'],
      ports: [`127.0.0.1:${hostPort}:8080`],
      volumes: ingress,
      depends_on: [`${name}-ingress`],
    }),
  }
}
