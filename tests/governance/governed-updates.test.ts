import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HttpSession, ModernHttp } from '../harness/asked-client.ts'
import type { CallStream, Message } from '../harness/call-stream.ts'
import type { LegacyClient } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { promise } from '../promises.ts'
import { fixture, type GovernedBench, openClient, openGoverned } from './governed-bench.ts'

const SERVERS = ['old', 'new'] as const
const uriOf = (server: string, name: string): string => `file:///srv/${server}/${name}`
const NAMES = ['a.txt', 'b.txt'] as const

describe(`${promise('GW-26')} updates of a subscribed resource`, () => {
  let bench: GovernedBench
  let client: LegacyClient
  let streams: readonly CallStream[]

  beforeAll(async () => {
    const uris = (server: string): readonly string[] => NAMES.map((name) => uriOf(server, name))
    const servers = {
      old: fixture('resource-server.mjs', ...uris('old')),
      new: fixture('resource-server.mjs', ...uris('new'), '--modern'),
    }
    bench = await openGoverned({ servers })
    client = await openClient(bench)
    const session = await HttpSession.open(bench.gateway.mcp, {})
    const wanted = SERVERS.flatMap(uris)
    for (const uri of wanted)
      expect(await session.request('resources/subscribe', { uri })).toMatchObject({ result: {} })
    const params = { notifications: { resourceSubscriptions: wanted } }
    const modern = new ModernHttp(bench.gateway.mcp, { capabilities: {} }).open(params, 'subscriptions/listen')
    await modern.next(({ method }) => method === 'notifications/subscriptions/acknowledged')
    streams = [await session.listen(), modern]
  })

  afterAll(async () => {
    for (const stream of streams) await stream.close()
    await bench.close()
  })

  const isNews = ({ method }: Message): boolean => method === 'notifications/resources/updated'

  /** What each client hears of when both resources of a server change, the latter of which is open to all. */
  const heardOf = async (server: string, name: string): Promise<readonly (readonly string[])[]> => {
    const last = uriOf(server, 'b.txt')
    const from = streams.map(({ received }) => received.length)
    const received = (): readonly (readonly string[])[] =>
      streams.map((stream, at) =>
        stream.received
          .slice(from[at])
          .filter(isNews)
          .map(({ params }) => params.uri),
      )
    for (const uri of [uriOf(server, name), last])
      expect(await client.call(`${server}_announce`, { uri })).toMatchObject({ content: [{ text: 'announced' }] })
    return eventually(received, (lists) => lists.every((uris) => uris.includes(last)))
  }
  const both = (uris: readonly string[]): readonly (readonly string[])[] => [uris, uris]
  const rules = (fields: object): Record<string, object> => ({ 'mcp__*__resources/read': fields })

  it.each(SERVERS)(
    'of an %s server follow the current rules, and continue when the rules allow them again',
    async (server) => {
      const [a, b] = NAMES.map((name) => uriOf(server, name)) as [string, string]
      expect(await heardOf(server, 'a.txt')).toEqual(both([a, b]))
      await bench.writeTools(rules({ forbidden_paths: ['/srv/*/a.txt'] }))
      expect(await heardOf(server, 'a.txt')).toEqual(both([b]))
      await bench.writeTools(rules({ arguments: { deny_patterns: ['a[.]txt'] } }))
      expect(await heardOf(server, 'a.txt')).toEqual(both([b]))
      await bench.writeTools({})
      expect(await heardOf(server, 'a.txt')).toEqual(both([a, b]))
    },
  )

  it('are checked by the URI that they name', async () => {
    await bench.writeTools(rules({ forbidden_paths: ['**/secret/**'] }))
    const [open, last] = [uriOf('old', 'a.txt/part'), uriOf('old', 'b.txt')]
    expect(await heardOf('old', 'a.txt/part')).toEqual(both([open, last]))
    expect(await heardOf('old', 'a.txt/secret/part')).toEqual(both([last]))
  })
})
