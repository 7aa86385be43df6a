import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../packages/core/src/json/json.ts'
import { malformedResults } from '../../packages/gateway/src/upstream/malformed-results.test-kit.ts'
import { modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { SDK_CLIENTS, type SdkClient } from '../harness/sdk-client.ts'
import { promise } from '../promises.ts'

const PUPPET = join(REPOSITORY, 'tests/fixtures/puppet-server.mjs')
const SERVERS = ['legacy', 'modern'] as const
const CLIENTS = [
  'the v1 SDK over HTTP',
  'the v2 SDK in the legacy era over HTTP',
  'the v2 SDK in the modern era over HTTP',
]
/** Blocks of types that the protocol does not have pass, and no SDK takes them. */
const HAS_UNKNOWN = /"type":"(?!(?:text|image|audio|resource|resource_link)")/

let gateway: RunningGateway
const clients = new Map<string, SdkClient>()

beforeAll(async () => {
  const servers = SERVERS.map((era) => [
    era,
    { command: process.execPath, args: [PUPPET, 'stdio', era, `odd-${era}`], era },
  ])
  gateway = await runGateway({ config: { mcp_servers: Object.fromEntries(servers), context: { cap: 'off' } } })
  await eventually(
    () => modernRequest(gateway.mcp, 'tools/list'),
    ({ message }) => SERVERS.every((name) => JSON.stringify(message).includes(`${name}_odd`)),
  )
  for (const name of CLIENTS) clients.set(name, await (SDK_CLIENTS[name] as (typeof SDK_CLIENTS)[string])(gateway))
})

afterAll(async () => {
  for (const client of clients.values()) await client.close()
  await gateway.stop()
})

const clientOf = (name: string): SdkClient => clients.get(name) as SdkClient

function ask({ plain, call }: SdkClient, server: string, method: string, say: string): Promise<unknown> {
  if (method === 'tools/call') return call(`${server}_say`, { say })
  if (method === 'prompts/get') return plain.getPrompt({ name: `${server}_say`, arguments: { say } })
  if (method === 'resources/read') return plain.readResource({ uri: `odd-${server}:///${encodeURIComponent(say)}` })
  return plain.complete({ ref: { type: 'ref/prompt', name: `${server}_say` }, argument: { name: 'say', value: say } })
}

/** Whether what was thrown came as an error from the gateway: otherwise the client threw a result away. */
const isRefusal = (error: unknown): boolean =>
  ((error as { data?: { code?: unknown } }).data?.code ?? '') === 'UPSTREAM_PROTOCOL'

describe.each(CLIENTS)(`${promise('GW-17')} %s`, (name) => {
  it.each(SERVERS.flatMap((server) => Object.keys(malformedResults).map((method) => ({ server, method }))))(
    'accepts the repaired result of $method, of a $server server',
    async ({ server, method }) => {
      await fc.assert(
        fc.asyncProperty(malformedResults[method] as fc.Arbitrary<JsonObject>, async (result) => {
          const complete = server === 'modern' && result.isError ? { resultType: 'complete' } : {}
          const message = JSON.stringify({ jsonrpc: '2.0', id: '$ID', result: { ...complete, ...result } })
          if (HAS_UNKNOWN.test(message)) return
          const say = JSON.stringify([message.replace('"$ID"', '$ID')])
          await ask(clientOf(name), server, method, say).catch((error: unknown) => {
            if (!isRefusal(error)) throw error
          })
        }),
        { numRuns: 40 },
      )
    },
  )

  it('takes every list of servers whose entries have invalid optional fields', async () => {
    const { plain } = clientOf(name)
    const { tools } = await plain.listTools()
    for (const server of SERVERS) expect(tools.map((tool) => tool.name)).toContain(`${server}_odd`)
    expect(await plain.listPrompts()).toMatchObject({ prompts: [{ name: 'legacy_say' }, { name: 'modern_say' }] })
    const { resources } = await plain.listResources()
    const second = 'sallyport+modern:odd:a'
    expect(resources).toMatchObject([
      { uri: 'odd:a', name: 'odd:a' },
      { uri: second, name: second },
    ])
    const { resourceTemplates } = await plain.listResourceTemplates()
    expect(resourceTemplates.map((template) => template.name)).toContain('odd-legacy:///{say}')
  })
})
