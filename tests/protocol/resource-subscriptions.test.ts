import { createHmac, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { StreamableHTTPClientTransport as ModernHttp, Client as ModernSdkClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client as LegacySdkClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as LegacyStdio } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as LegacyHttp } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ResourceUpdatedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type FaultBench, type Json, openFaultBench, textOf } from '../faults/fault-bench.ts'
import { LegacyClient } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import {
  endProcess,
  MAIN,
  makePlace,
  REPOSITORY,
  type RunningGateway,
  readRecords,
  runGateway,
} from '../harness/run-gateway.ts'
import { openWindow } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

const entry = (args: readonly string[], more: object = {}): object => ({
  command: process.execPath,
  args: [join(REPOSITORY, 'tests/fixtures/resource-server.mjs'), ...args],
  ...more,
})

/** A client that subscribed to one resource. */
interface Subscriber {
  /** Every notification of a changed resource that it received. */
  readonly updates: Json[]
  leave(): Promise<void>
}

type Way = (gateway: RunningGateway, uri: string) => Promise<Subscriber>

// biome-ignore lint/suspicious/noTemplateCurlyInString: the configuration refers to a variable.
const VARIABLE = '${SECRET}'
const identity = { name: 'subscriber', version: '1.0.0' }
const relay = ({ home, state }: RunningGateway) => ({
  command: process.execPath,
  args: [MAIN, 'serve', '--stdio', '--home', home, '--state', state],
})

/** A token as an identity provider with a shared key (HS256) would give it. */
function bearer(secret: string, claims: object): { authorization: string } {
  const encoded = [{ alg: 'HS256' }, { exp: Math.floor(Date.now() / 1_000) + 3_600, ...claims }].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const signature = createHmac('sha256', secret).update(encoded.join('.')).digest('base64url')
  return { authorization: `Bearer ${[...encoded, signature].join('.')}` }
}

async function legacySubscriber(transport: LegacyHttp | LegacyStdio, uri: string): Promise<Subscriber> {
  const client = new LegacySdkClient(identity)
  const updates: Json[] = []
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updates.push(params))
  await client.connect(transport as never)
  await client.subscribeResource({ uri })
  const leave = async (): Promise<void> => {
    if (transport instanceof LegacyHttp) await transport.terminateSession()
    await client.close()
  }
  return { updates, leave }
}

async function modernSubscriber(transport: ModernHttp | ModernStdio, uri: string): Promise<Subscriber> {
  const client = new ModernSdkClient(identity, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
  const updates: Json[] = []
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => void updates.push(params))
  await client.connect(transport)
  const { honoredFilter } = await client.listen({ resourceSubscriptions: [uri] })
  expect(honoredFilter).toEqual({ resourceSubscriptions: [uri] })
  return { updates, leave: () => client.close() }
}

const WAYS: Readonly<Record<string, Way>> = {
  'a v1 client over HTTP': ({ mcp }, uri) => legacySubscriber(new LegacyHttp(new URL(mcp)), uri),
  'a v1 client over stdio': (gateway, uri) => legacySubscriber(new LegacyStdio(relay(gateway)), uri),
  'a v2 client over HTTP': ({ mcp }, uri) => modernSubscriber(new ModernHttp(new URL(mcp)), uri),
  'a v2 client over stdio': (gateway, uri) => modernSubscriber(new ModernStdio(relay(gateway)), uri),
}
const wayNames = Object.keys(WAYS)
const subscribe = (way: string, gateway: RunningGateway, uri: string): Promise<Subscriber> =>
  (WAYS[way] as Way)(gateway, uri)

const undo: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})
const untilLeft = (subscriber: Subscriber): Subscriber => {
  undo.push(() => subscriber.leave())
  return subscriber
}

describe(`${promise('GW-17')} a subscription to a resource`, () => {
  let bench: FaultBench
  const URIS = { old: 'old://one', new: 'new://one' }
  const servers = ['old', 'new'] as const

  beforeAll(async () => {
    bench = await openFaultBench({
      old: entry(['old://one', 'old://two']),
      new: entry(['new://one', 'new://two', '--modern', '--refuse', 'new://closed']),
    })
    await Promise.all(servers.map((id) => bench.until(id, 'ready')))
  })
  afterAll(() => bench.close())

  const asked = async (server: string): Promise<Json> => JSON.parse(textOf(await bench.window.call(`${server}_asked`)))
  const announce = async (server: string, uri: string): Promise<string> =>
    textOf(await bench.window.call(`${server}_announce`, { uri }))
  const untilNotified = ({ updates }: Subscriber, times = 1): Promise<unknown> =>
    eventually(
      async () => updates.length,
      (count) => count >= times,
    )
  /** The server reports that nobody is subscribed any more. */
  const isLeft = async (server: string, uri: string, times: number): Promise<unknown> =>
    eventually(
      () => asked(server),
      ({ unsubscribe, open }) =>
        server === 'old' ? unsubscribe[uri] === times : open.every((uris: string[]) => !uris.includes(uri)),
    )

  it.each(servers.flatMap((server) => wayNames.map((way) => [server, way] as const)))(
    'at the %s server reaches %s, once, without internal ids',
    async (server, way) => {
      const uri = URIS[server]
      const before = (await asked(server)).unsubscribe[uri] ?? 0
      const subscriber = await subscribe(way, bench.gateway, uri)
      await announce(server, uri)
      await untilNotified(subscriber)
      await announce(server, uri)
      await untilNotified(subscriber, 2)
      expect(subscriber.updates).toHaveLength(2)
      const meta: Json = subscriber.updates[0]?._meta ?? {}
      expect(meta['example/kept']).toBe(server === 'new' ? 1 : undefined)
      const id = meta['io.modelcontextprotocol/subscriptionId']
      if (way.includes('v1')) expect(id).toBeUndefined()
      else expect(id).toMatch(/^listen:/)
      await subscriber.leave()
      await isLeft(server, uri, before + 1)
    },
  )

  it.each(servers)('is sent to the %s server once for all subscribers, and ended with the last one', async (server) => {
    const uri = `${server}://two`
    const subscribers: Subscriber[] = []
    for (const way of wayNames) subscribers.push(await subscribe(way, bench.gateway, uri))
    const { subscribe: times, open } = await asked(server)
    if (server === 'old') expect(times[uri]).toBe(1)
    else expect(open.filter((uris: string[]) => uris.includes(uri))).toHaveLength(1)
    await announce(server, uri)
    for (const subscriber of subscribers) await untilNotified(subscriber)
    const [last, ...others] = subscribers
    for (const subscriber of others) await subscriber.leave()
    await announce(server, uri)
    await untilNotified(last as Subscriber, 2)
    await last?.leave()
    await isLeft(server, uri, 1)
    const starts = bench.gateway
      .records()
      .filter(
        ({ type, method, tool_name }) =>
          [type, method, tool_name].join() === `TOOL_CALL_STARTED,resources/subscribe,${uri}`,
      )
    expect(starts, 'each of them is decided and recorded').toHaveLength(4)
  })

  it('is not granted if a modern server does not acknowledge it', async () => {
    const { error } = await bench.window.request('resources/subscribe', { uri: 'new://closed' })
    expect(error).toMatchObject({ code: -32602, data: { code: 'SUBSCRIPTION_REFUSED' } })
    expect((await asked('new')).open.flat()).not.toContain('new://closed')
  })

  it('to many resources needs few listening requests', async () => {
    const before = (await asked('new')).listen
    const client = new ModernSdkClient(identity, { versionNegotiation: { mode: { pin: '2026-07-28' } } })
    await client.connect(new ModernHttp(new URL(bench.gateway.mcp)))
    const resourceSubscriptions = ['new://one', 'new://two', 'new://closed', 'old://one', 'nobody://s']
    const { honoredFilter } = await client.listen({ resourceSubscriptions })
    expect(honoredFilter).toEqual({ resourceSubscriptions: ['new://one', 'new://two', 'old://one'] })
    expect((await asked('new')).listen - before).toBeLessThanOrEqual(2)
    await client.close()
    await isLeft('new', 'new://one', 0)
  })

  it.each(servers)('at the %s server continues after the server was killed', async (server) => {
    const uri = URIS[server]
    const subscriber = untilLeft(await subscribe('a v1 client over HTTP', bench.gateway, uri))
    const { restarts } = await bench.server(server)
    const { pid } = await asked(server)
    process.kill(pid, 'SIGKILL')
    await eventually(
      () => bench.server(server),
      (seen) => seen.state === 'ready' && seen.restarts > restarts,
    )
    await eventually(
      () => asked(server),
      ({ subscribe: times, open }) => times[uri] === 1 || open.flat().includes(uri),
    )
    await announce(server, uri)
    await untilNotified(subscriber)
  })

  it('continues after a modern server ended the listening request', async () => {
    const subscriber = untilLeft(await subscribe('a v2 client over HTTP', bench.gateway, 'new://one'))
    expect(textOf(await bench.window.call('new_hang_up'))).toBe('hung up')
    await eventually(
      () => asked('new'),
      ({ open }) => open.flat().includes('new://one'),
    )
    await announce('new', 'new://one')
    await untilNotified(subscriber)
  })

  it('ends with its session, its connection or its stream, however that ends', async () => {
    const uri = 'old://one'
    const before = (await asked('old')).unsubscribe[uri] ?? 0
    const window = openWindow(bench.gateway)
    await window.initialize()
    await window.request('resources/subscribe', { uri })
    await window.kill()
    await isLeft('old', uri, before + 1)
    await window.kill()
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const connection = new AbortController()
    const response = await fetch(bench.gateway.mcp, {
      method: 'POST',
      headers: { ...headers, 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' },
      body: JSON.stringify({
        ...{ jsonrpc: '2.0', id: 'mine', method: 'subscriptions/listen' },
        params: {
          notifications: { resourceSubscriptions: [uri] },
          _meta: {
            'io.modelcontextprotocol/protocolVersion': '2026-07-28',
            'io.modelcontextprotocol/clientInfo': identity,
            'io.modelcontextprotocol/clientCapabilities': {},
          },
        },
      }),
      signal: connection.signal,
    })
    const first = await response.body?.getReader().read()
    expect(Buffer.from(first?.value ?? []).toString()).toContain('acknowledged')
    connection.abort()
    await isLeft('old', uri, before + 2)
  })
})

describe(`${promise('GW-26')} a subscription, as the servers change`, () => {
  it('is renewed with a server whose entry changed, and is decided again', async () => {
    const gateway = await runGateway({ config: { mcp_servers: { old: entry(['old://one']) } } })
    undo.push(() => gateway.stop())
    const subscriber = untilLeft(await subscribe('a v1 client over HTTP', gateway, 'old://one'))
    const window = openWindow(gateway)
    undo.push(async () => void (await window.leave()))
    await window.initialize()
    const { pid } = JSON.parse(textOf(await window.call('old_asked')))
    gateway.writeConfig({ mcp_servers: { old: entry(['old://one'], { env: { CHANGED: '1' } }) } })
    await eventually(
      () => window.call('old_asked'),
      (result) => {
        const now = result.isError ? { pid } : JSON.parse(textOf(result))
        return now.pid !== pid && now.subscribe['old://one'] === 1
      },
    )
    await window.call('old_announce', { uri: 'old://one' })
    await eventually(
      async () => subscriber.updates.length,
      (count) => count === 1,
    )
  })

  it('is not requested while the gateway stops', async () => {
    const place = makePlace({ mcp_servers: { old: entry(['old://one']) } })
    undo.push(async () => place.remove())
    const gateway = await runGateway({ place })
    const window = openWindow(gateway)
    undo.push(() => window.kill())
    await window.initialize()
    expect(await window.request('resources/subscribe', { uri: 'old://one' })).toMatchObject({ result: {} })
    await endProcess(gateway.child)
    const asked = readRecords(place.state).filter(({ method }) => method === 'resources/subscribe')
    expect(asked.map(({ type }) => type)).toEqual(['TOOL_CALL_STARTED', 'TOOL_CALL_COMPLETED'])
  })

  it('stays within the session if each has its own process', async () => {
    const secret = randomBytes(48).toString('base64url')
    const gateway = await runGateway({
      config: {
        auth: { jwt: { secret: VARIABLE } },
        mcp_servers: { own: entry(['own://one'], { per: 'session' }) },
      },
      ...{ args: [], env: { SECRET: secret } },
    })
    undo.push(() => gateway.stop())
    const [ann, bob] = await Promise.all(
      ['ann', 'bob'].map(async (sub) => {
        const headers = bearer(secret, { sub, session_id: 'same' })
        const transport = new LegacyHttp(new URL(gateway.mcp), { requestInit: { headers } })
        const subscriber = untilLeft(await legacySubscriber(transport, 'own://one'))
        const client = await LegacyClient.open(gateway.mcp, headers)
        return { subscriber, call: (tool: string) => client.call(`own_${tool}`, { uri: 'own://one' }) }
      }),
    )
    if (!ann || !bob) throw new Error('two were expected')
    for (const { subscriber, call } of [ann, bob]) {
      expect(textOf(await call('asked'))).toContain('"subscribe":{"own://one":1}')
      await call('announce')
      await eventually(
        async () => subscriber.updates.length,
        (count) => count > 0,
      )
    }
    expect([ann.subscriber.updates.length, bob.subscriber.updates.length]).toEqual([1, 1])
    await ann.subscriber.leave()
    await eventually(
      () => ann.call('asked'),
      (result) => textOf(result).includes('"unsubscribe":{"own://one":1}'),
    )
    expect(textOf(await bob.call('asked'))).toContain('"unsubscribe":{}')
  })

  it('works with a server from npm, from every client', async () => {
    const everything = join(REPOSITORY, 'node_modules/@modelcontextprotocol/server-everything/dist/index.js')
    const bench = await openFaultBench({ everything: { command: process.execPath, args: [everything] } })
    undo.push(() => bench.close())
    await bench.until('everything', 'ready')
    const subscribers: Subscriber[] = []
    for (const way of wayNames)
      subscribers.push(untilLeft(await subscribe(way, bench.gateway, 'demo://resource/dynamic/text/1')))
    const toggle = (await bench.window.toolNames()).find((name) => /toggle.subscriber.updates/.test(name))
    expect(textOf(await bench.window.call(toggle ?? 'no such tool'))).toContain('Started')
    await eventually(
      async () => subscribers.map(({ updates }) => updates[0]?.uri),
      (uris) => uris.every((uri) => uri === 'demo://resource/dynamic/text/1'),
    )
  })

  it('passes through another gateway, over HTTP', async () => {
    const behind = await runGateway({ config: { mcp_servers: { old: entry(['old://one']) } } })
    undo.push(() => behind.stop())
    const front = await runGateway({ config: { mcp_servers: { far: { url: behind.mcp } } } })
    undo.push(() => front.stop())
    const window = openWindow(front)
    undo.push(async () => void (await window.leave()))
    await window.initialize()
    await eventually(
      () => window.toolNames(),
      (names) => names.includes('far_old_asked'),
    )
    const subscribers: Subscriber[] = []
    for (const way of wayNames) subscribers.push(untilLeft(await subscribe(way, front, 'old://one')))
    expect(textOf(await window.call('far_old_asked'))).toContain('"subscribe":{"old://one":1}')
    await window.call('far_old_announce', { uri: 'old://one' })
    await eventually(
      async () => subscribers.map(({ updates }) => updates.length),
      (counts) => counts.every((count) => count === 1),
    )
    for (const step of undo.splice(3).reverse()) await step()
    await eventually(
      () => window.call('far_old_asked'),
      ({ content }) => content[0].text.includes('"unsubscribe":{"old://one":1}'),
    )
  })
})
