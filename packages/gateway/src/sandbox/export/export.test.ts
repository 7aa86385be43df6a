import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { type HostRule, parseHostRule } from '@sallyport/core'
import { Deployment as KubernetesDeployment } from 'kubernetes-models/apps/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { ConfigMap, Service } from 'kubernetes-models/v1'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { formatComment } from './comment.ts'
import { exportCompose } from './compose.ts'
import type { DeployedServer, Deployment } from './deployment.ts'
import { EGRESS_CANARY } from './egress-canary.ts'
import { exportEnvoy } from './envoy.ts'
import { exportKubernetes } from './kubernetes.ts'
import { exportSquid } from './squid.ts'

const rules = (...written: readonly string[]): readonly HostRule[] =>
  written.flatMap((each) => parseHostRule(each) ?? [])

const server = (name: string, modes: DeployedServer['modes'], more: Partial<DeployedServer> = {}): DeployedServer => ({
  ...{ server: name, name, image: `${name}:1`, port: 8_000, path: '/mcp', env: [], modes },
  ...more,
})

const DEPLOYMENT: Deployment = {
  allow: rules('site.test', '*.sub.test', '10.77.0.2:5432', '[fd99::2]:443'),
  servers: [
    server('data', ['FULL', 'NONE'], { env: ['DATA_TOKEN'], path: '/data/mcp', port: 9_000 }),
    server('web', ['FULL', 'PROXIED']),
    server('files', ['NONE']),
  ],
}

/** What an object of an unknown kind looks like here. */
interface Anything {
  readonly [key: string]: Anything & readonly Anything[] & string
}

const MODELS = { Deployment: KubernetesDeployment, NetworkPolicy, ConfigMap, Service }

/** The models accept fields that they do not know. One that they never read is such a field. */
function listUnreadFields(value: unknown, path: string, read: Set<unknown>): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, inner]) => {
    const at = `${path}.${key}`
    return [...(read.has(at) ? [] : [at]), ...listUnreadFields(inner, at, read)]
  })
}

function watchReads<Value>(value: Value, path: string, read: Set<unknown>): Value {
  if (typeof value !== 'object' || value === null) return value
  return new Proxy(value, {
    get(target, key) {
      const inner = Reflect.get(target, key)
      if (typeof key !== 'string' || !Object.hasOwn(target, key)) return inner
      read.add(`${path}.${key}`)
      return watchReads(inner, `${path}.${key}`, read)
    },
  })
}

function findProblems(object: Anything): readonly string[] {
  const kind = String(object.kind) as keyof typeof MODELS
  const read = new Set<unknown>()
  const model = new MODELS[kind](Object.fromEntries(Object.entries(object)) as never)
  // The model copies the outermost fields.
  for (const key of Object.keys(object))
    Object.assign(model, { [key]: watchReads(object[key], `${kind}.${key}`, read) })
  for (const key of ['apiVersion', 'kind', 'metadata', 'spec', 'data']) read.add(`${kind}.${key}`)
  model.validate()
  return listUnreadFields(object, kind, read)
}

const documents = (text: string): readonly Anything[] => parseAllDocuments(text).map((each) => each.toJS() as Anything)

describe('the export for Kubernetes', () => {
  const objects = documents(exportKubernetes(DEPLOYMENT))
  const find = (kind: string, name: string): Anything => {
    const found = objects.find((each) => each.kind === kind && each.metadata?.name === name)
    if (found === undefined) throw new Error(`There is no ${kind} ${name}.`)
    return found
  }

  it('has only fields that Kubernetes knows, with values of their types', () => {
    expect(objects.flatMap(findProblems)).toEqual([])
    const policy = structuredClone(find('NetworkPolicy', 'sallyport-none')) as unknown as {
      spec: Record<string, unknown>
    }
    policy.spec.egres = []
    expect(findProblems(policy as never)).toEqual(['NetworkPolicy.spec.egres'])
    policy.spec.policyTypes = 'Egress'
    expect(() => findProblems(policy as never)).toThrow('policyTypes')
  })

  it('lets each mode reach what it may', () => {
    const egressOf = (name: string): unknown => find('NetworkPolicy', name).spec?.egress
    const proxy = (port: number) => [
      {
        to: [{ podSelector: { matchLabels: { 'app.kubernetes.io/name': 'egress-proxy' } } }],
        ports: [{ protocol: 'TCP', port }],
      },
    ]
    expect(egressOf('sallyport-none')).toEqual([])
    expect(egressOf('sallyport-proxied')).toEqual(proxy(3128))
    expect(egressOf('sallyport-full')).toEqual(proxy(3129))
    for (const { spec } of objects.filter(({ kind }) => kind === 'NetworkPolicy'))
      expect(spec?.policyTypes).toEqual(['Ingress', 'Egress'])
    expect(JSON.stringify(egressOf('egress-proxy'))).toContain(
      '{"ipBlock":{"cidr":"10.77.0.2/32"}}],"ports":[{"protocol":"TCP","port":5432}]',
    )
  })

  it('holds each pod to the policy of its mode, and starts it only after the canary', () => {
    const pods = objects.filter(({ kind, metadata }) => kind === 'Deployment' && metadata?.name !== 'egress-proxy')
    const labels = pods.map(({ metadata, spec }) => [
      metadata?.name,
      spec?.template?.metadata?.labels?.['sallyport.dev/mode'],
      spec?.template?.spec?.initContainers?.[0]?.name,
    ])
    expect(labels).toEqual([
      ['data', 'full', 'egress-canary'],
      ['data-isolated', 'none', 'egress-canary'],
      ['web', 'full', 'egress-canary'],
      ['web-isolated', 'proxied', 'egress-canary'],
      ['files', 'none', 'egress-canary'],
    ])
  })

  it('gives secrets by their names, and the proxy only to pods that have one', () => {
    const variables = (name: string) => find('Deployment', name).spec?.template?.spec?.containers?.[0]?.env ?? []
    expect(variables('data')).toContainEqual({
      name: 'DATA_TOKEN',
      valueFrom: { secretKeyRef: { name: 'data-env', key: 'DATA_TOKEN' } },
    })
    expect(variables('web-isolated')).toContainEqual({
      name: 'HTTPS_PROXY',
      value: 'http://$(EGRESS_PROXY_SERVICE_HOST):3128',
    })
    expect(variables('files').map(({ name }) => name)).toEqual(['HOST', 'PORT'])
  })

  it('has no proxy where nobody may use it', () => {
    const names = documents(exportKubernetes({ ...DEPLOYMENT, servers: [server('files', ['NONE'])] })).map(
      ({ kind, metadata }) => `${kind} ${metadata?.name}`,
    )
    expect(names).toEqual(['NetworkPolicy sallyport-none', 'Deployment files', 'Service files'])
  })
})

describe('the canary of a pod', () => {
  const run = async (environment: Readonly<Record<string, string>>) => {
    const child = spawn('/bin/sh', ['-c', EGRESS_CANARY], {
      env: { PATH: process.env.PATH, RESOLV_CONF: '/dev/null', ATTEMPTS: '2', PAUSE: '0', ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const text: string[] = []
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (part) => text.push(part))
    const [code] = (await once(child, 'close')) as [number]
    return { code, text: text.join('') }
  }
  const hasSocat = spawnSync('/bin/sh', ['-c', 'command -v socat']).status === 0

  it.skipIf(!hasSocat)('fails while anything can be reached that it may not reach', async () => {
    const open = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
    await once(open, 'listening')
    const { port } = open.address() as { port: number }
    const api = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: String(port) }
    const closed = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1' }
    expect(await run(api)).toEqual({
      code: 1,
      text: expect.stringContaining(`not enforced: it reached 127.0.0.1:${port}`),
    })
    const other = { ...closed, REFUSED: `127.0.0.1:2 127.0.0.1:${port}` }
    expect(await run(other)).toMatchObject({ code: 1 })
    open.close()
    await once(open, 'close')
    expect(await run(other)).toEqual({ code: 0, text: expect.stringContaining('none of these can be reached') })
  })

  it('fails where it can check nothing', async () => {
    expect(await run({})).toEqual({ code: 1, text: expect.stringContaining('nothing can be checked') })
    const api = { KUBERNETES_SERVICE_HOST: '127.0.0.1', KUBERNETES_SERVICE_PORT: '1' }
    expect(await run({ ...api, PATH: '/nonexistent' })).toMatchObject({ code: 1 })
  })
})

describe('the export for Docker Compose', () => {
  const text = exportCompose(DEPLOYMENT)
  const { services, volumes } = parse(text) as Readonly<
    Record<'services' | 'volumes', Readonly<Record<string, Anything>>>
  >

  it('gives no server a network, and a way out only where the mode has one', () => {
    const networks = Object.entries(services).filter(([, service]) => service.networks !== undefined)
    expect(networks.map(([name]) => name)).toEqual([
      'egress-proxied',
      ...['data', 'data-isolated', 'web', 'web-isolated', 'files'].map((name) => `${name}-front`),
    ])
    for (const name of ['data', 'data-isolated', 'web', 'web-isolated', 'files']) {
      expect(services[name]?.network_mode).toBe(`service:${name}-ingress`)
      expect(services[`${name}-ingress`]?.network_mode).toBe('none')
      // The sockets of others are out of its reach.
      expect(services[name]?.volumes).toBeUndefined()
    }
    const out = Object.entries(services).filter(([name]) => /^(data|web|files).*-egress$/.test(name))
    expect(out.map(([name, { volumes: used }]) => [name, used])).toEqual([
      ['data-egress', ['egress-full:/run/egress']],
      ['web-egress', ['egress-full:/run/egress']],
      ['web-isolated-egress', ['egress-proxied:/run/egress']],
    ])
    expect(Object.keys(volumes)).toEqual([
      'egress-proxied',
      'egress-full',
      ...['data', 'data-isolated', 'web', 'web-isolated', 'files'].map((name) => `${name}-ingress`),
    ])
  })

  it('names the addresses for the gateway, and no values of variables', () => {
    expect(text).toContain(
      '# "data": { url: "http://127.0.0.1:8101/data/mcp", url_isolated: "http://127.0.0.1:8102/data/mcp" }',
    )
    expect(text).toContain('# "files": { url: "http://127.0.0.1:8105/mcp" }')
    expect(services.data?.environment).toMatchObject({ DATA_TOKEN: null, PORT: '9000' })
  })
})

describe('an exported file', () => {
  it.each([
    ['squid', exportSquid([], { listen: undefined, isContainer: false })],
    ['envoy', exportEnvoy([], '127.0.0.1')],
    ['docker-compose', exportCompose(DEPLOYMENT)],
    ['k8s', exportKubernetes(DEPLOYMENT)],
  ])('for %s says on top what it covers and what it does not', (format, text) => {
    const lines = text.split('\n')
    const top = lines
      .slice(
        0,
        lines.findIndex((line) => !line.startsWith('#')),
      )
      .join('\n')
    expect(top).toContain(`--to ${format}`)
    expect(top).toMatch(/^# Covered/m)
    expect(top).toMatch(/^# Not covered/m)
  })

  it('with an empty list lets PROXIED reach nobody', () => {
    expect(exportSquid([], { listen: undefined, isContainer: false })).toMatch(/^http_access deny proxied$/m)
    const [proxied] = (parse(exportEnvoy([], '127.0.0.1')) as Anything).static_resources?.listeners ?? []
    expect(JSON.stringify(proxied)).not.toContain('"cluster":"egress"')
  })
})

describe('formatComment', () => {
  it('wraps at words, and leaves an empty line between paragraphs', () => {
    expect(formatComment(['one two', 'three'])).toBe('# one two\n#\n# three\n')
    const lines = formatComment([Array.from({ length: 60 }, () => 'word').join(' ')])
      .trimEnd()
      .split('\n')
    expect(lines.every((line) => line.startsWith('# word') && line.length <= 100)).toBe(true)
  })
})
