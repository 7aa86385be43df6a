import { type AddressBlock, type HostRule, isAddress, PUBLIC_ADDRESSES } from '@sallyport/core'
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
import { EGRESS_CANARY } from './egress-canary.ts'
import { exportSquid } from './squid.ts'

const NOTICE = [
  'Servers with the network modes of Sallyport, for Kubernetes 1.21 or later with IPv4 addresses for services. Written by `sallyport sandbox export --to k8s`: run it again when the policy changes. Apply it to a namespace of its own: `kubectl apply -n mcp-servers -f <this file>`.',
  'A NetworkPolicy for each mode: NONE reaches nothing; PROXIED and FULL reach one port of the proxy, which is the only way out and resolves names itself. Only pods with the label `app.kubernetes.io/name: sallyport` in this namespace reach the servers: give it to the gateway.',
  'Covered: hosts, ports and addresses as the comment of the Squid configuration says (below, tested with Squid 5.7), and again by the NetworkPolicy of the proxy, whatever a name resolves to; UDP, DNS and TCP past the proxy.',
  'Not covered: many clusters accept a NetworkPolicy and ignore it. So each pod first runs `egress-canary`, which does not let it start while the API server, a DNS server or a port of the proxy that is not its own can be reached. It does not recheck while the pod runs. Traffic to the node itself, which some network plugins never filter. The network of a pod does not become narrower while it runs; instead the gateway sends calls of sessions with private data to `url_isolated` only.',
  'The images are not Sallyport’s: replace ubuntu/squid and alpine/socat by your own, with their digests (kustomize: `images`). A server must listen on the port of the variable PORT, on all addresses (HOST), and run as an ordinary user. Variables of its entry come from the secrets that are named here; create them first.',
]

const MODE_LABEL = 'sallyport.dev/mode'
const NAME_LABEL = 'app.kubernetes.io/name'
const PROXY = 'egress-proxy'
const PROXY_LABELS = { [NAME_LABEL]: PROXY }
/** The address of its service, which Kubernetes fills in: the pods have no DNS, since questions to it could carry data. */
const PROXY_ADDRESS = '$(EGRESS_PROXY_SERVICE_HOST)'
/** The user `proxy` of Debian and of Squid's images. */
const SQUID_USER = 13

const CONTAINER_RIGHTS = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
}
const POD_RIGHTS = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } }

export function exportKubernetes(deployment: Deployment): string {
  const instances = listInstances(deployment)
  const modes = (['NONE', 'PROXIED', 'FULL'] as const).filter((mode) => instances.some((each) => each.mode === mode))
  const needsProxy = modes.some((mode) => mode !== 'NONE')
  const objects = [
    ...modes.map(formatModePolicy),
    ...(needsProxy ? formatProxy(deployment) : []),
    ...instances.flatMap((instance) => [
      formatDeployment(instance),
      buildServiceObject(instance.name, instance.server.port),
    ]),
  ]
  const url = ({ name, server }: Instance): string => `http://${name}:${server.port}${server.path}`
  const notice = [...NOTICE, 'The entries for config.yaml:', ...describeEntries(instances, url)]
  const documents = objects.map((each) => stringify(each, YAML_STYLE))
  return `${formatComment(notice)}---\n${documents.join('---\n')}`
}

const modeValue = (mode: string): string => mode.toLowerCase()

function formatModePolicy(mode: 'NONE' | 'PROXIED' | 'FULL'): object {
  const egress =
    mode === 'NONE' ? [] : [{ to: [{ podSelector: { matchLabels: PROXY_LABELS } }], ports: [tcp(PROXY_PORTS[mode])] }]
  return formatPolicy(`sallyport-${modeValue(mode)}`, {
    podSelector: { matchLabels: { [MODE_LABEL]: modeValue(mode) } },
    ingress: [{ from: [{ podSelector: { matchLabels: { [NAME_LABEL]: 'sallyport' } } }] }],
    egress,
  })
}

const formatPolicy = (name: string, spec: object): object => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'NetworkPolicy',
  metadata: { name },
  spec: { ...spec, policyTypes: ['Ingress', 'Egress'] },
})

const tcp = (port: number) => ({ protocol: 'TCP', port })

function formatProxy({ allow }: Deployment): readonly object[] {
  const client = (mode: 'PROXIED' | 'FULL') => ({
    from: [{ podSelector: { matchLabels: { [MODE_LABEL]: modeValue(mode) } } }],
    ports: [tcp(PROXY_PORTS[mode])],
  })
  return [
    formatPolicy(PROXY, {
      podSelector: { matchLabels: PROXY_LABELS },
      ingress: [client('PROXIED'), client('FULL')],
      egress: [DNS, { to: [formatIpBlock(4), formatIpBlock(6)] }, ...formatListedAddresses(allow)],
    }),
    {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: PROXY },
      data: { 'squid.conf': exportSquid(allow, { listen: undefined, isContainer: true }) },
    },
    PROXY_DEPLOYMENT,
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: PROXY },
      spec: {
        selector: PROXY_LABELS,
        ports: [
          { name: 'proxied', port: PROXY_PORTS.PROXIED },
          { name: 'full', port: PROXY_PORTS.FULL },
        ],
      },
    },
  ]
}

const DNS = {
  to: [
    {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
      podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
    },
  ],
  ports: [{ protocol: 'UDP', port: 53 }, tcp(53)],
}

const formatCidr = ({ first, bits }: AddressBlock): string => `${first}/${bits}`

function formatIpBlock(family: 4 | 6): object {
  const { block, except } = PUBLIC_ADDRESSES[family]
  return { ipBlock: { cidr: formatCidr(block), except: except.map(formatCidr) } }
}

function formatListedAddresses(allow: readonly HostRule[]): readonly object[] {
  return allow
    .filter(({ host }) => isAddress(host))
    .map(({ host, ports }) => ({
      to: [{ ipBlock: { cidr: formatCidr({ first: host, bits: host.includes(':') ? 128 : 32 }) } }],
      ports: ports.map(tcp),
    }))
}

const SQUID_FOLDERS = { run: '/run', logs: '/var/log/squid', spool: '/var/spool/squid' }

const PROXY_DEPLOYMENT = formatWorkload(PROXY, PROXY_LABELS, {
  securityContext: { ...POD_RIGHTS, runAsUser: SQUID_USER, runAsGroup: SQUID_USER, fsGroup: SQUID_USER },
  containers: [
    {
      name: 'squid',
      image: 'ubuntu/squid:latest',
      command: ['squid', '-N', '-f', '/etc/squid/squid.conf'],
      ports: [{ containerPort: PROXY_PORTS.PROXIED }, { containerPort: PROXY_PORTS.FULL }],
      securityContext: CONTAINER_RIGHTS,
      volumeMounts: [
        { name: 'config', mountPath: '/etc/squid/squid.conf', subPath: 'squid.conf', readOnly: true },
        ...Object.entries(SQUID_FOLDERS).map(([name, mountPath]) => ({ name, mountPath })),
      ],
    },
  ],
  volumes: [
    { name: 'config', configMap: { name: PROXY } },
    ...Object.keys(SQUID_FOLDERS).map((name) => ({ name, emptyDir: {} })),
  ],
})

function formatWorkload(name: string, labels: Readonly<Record<string, string>>, pod: object): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, labels },
    spec: {
      replicas: 1,
      selector: { matchLabels: { [NAME_LABEL]: name } },
      template: {
        metadata: { labels },
        spec: { automountServiceAccountToken: false, ...pod },
      },
    },
  }
}

function formatDeployment(instance: Instance): object {
  const { name, mode, server } = instance
  const port = proxyPortOf(instance)
  const variables = {
    ...(port !== undefined && proxyVariables(`http://${PROXY_ADDRESS}:${port}`)),
    ...{ HOST: '0.0.0.0', PORT: String(server.port) },
  }
  return formatWorkload(
    name,
    { [NAME_LABEL]: name, [MODE_LABEL]: modeValue(mode) },
    {
      securityContext: POD_RIGHTS,
      initContainers: [formatCanary(port)],
      containers: [
        {
          name: 'server',
          image: server.image,
          ports: [{ containerPort: server.port }],
          env: [
            ...Object.entries(variables).map(([variable, value]) => ({ name: variable, value })),
            ...server.env.map((variable) => ({
              name: variable,
              valueFrom: { secretKeyRef: { name: `${server.name}-env`, key: variable } },
            })),
          ],
          securityContext: CONTAINER_RIGHTS,
          volumeMounts: [{ name: 'tmp', mountPath: '/tmp' }],
        },
      ],
      volumes: [{ name: 'tmp', emptyDir: {} }],
    },
  )
}

/** Tries what no pod of the mode may reach. */
function formatCanary(own: number | undefined): object {
  const others = Object.values(PROXY_PORTS).filter((port) => port !== own)
  return {
    name: 'egress-canary',
    image: 'alpine/socat:latest',
    command: ['sh', '-c', EGRESS_CANARY],
    env: [{ name: 'REFUSED', value: others.map((port) => `${PROXY_ADDRESS}:${port}`).join(' ') }],
    securityContext: { ...CONTAINER_RIGHTS, runAsUser: 65_534 },
  }
}

const buildServiceObject = (name: string, port: number): object => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { selector: { [NAME_LABEL]: name }, ports: [{ port }] },
})
