import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { afterEach, describe, expect, it } from 'vitest'
import { LegacyClient, modernRequest } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { endProcess, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { openV1 } from '../harness/sdk-client.ts'
import { promise } from '../promises.ts'

type Json = Record<string, any>

const FIXTURE = join(REPOSITORY, 'tests/fixtures/forgetful-server.mjs')
const undo: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

interface Scene {
  readonly gateway: RunningGateway
  readonly client: LegacyClient
  /** Commands the server, and returns what it has seen. */
  tell(command: string): Promise<Json>
}

async function open(...args: string[]): Promise<Scene> {
  const child: ChildProcess = spawn(process.execPath, [FIXTURE, ...args], { stdio: ['ignore', 'pipe', 'inherit'] })
  undo.push(() => endProcess(child))
  const [origin] = await once(createInterface({ input: child.stdout as NonNullable<typeof child.stdout> }), 'line')
  const gateway = await runGateway({ config: { mcp_servers: { memo: { url: `${origin}/mcp` } } } })
  undo.push(() => gateway.stop())
  await eventually(
    () => modernRequest(gateway.mcp, 'tools/list'),
    ({ message }) => JSON.stringify(message).includes('memo_count'),
  )
  const tell = async (command: string): Promise<Json> =>
    (await fetch(`${origin}/${command}`, { method: 'POST' })).json() as Promise<Json>
  return { gateway, client: await LegacyClient.open(gateway.mcp), tell }
}

const textOf = (result: Json): unknown => result.content?.[0]?.text
const typesOf = ({ gateway }: Scene): readonly unknown[] => gateway.records().map(({ type }) => type)

describe(`${promise('GW-34')} a server made with an SDK that forgets its sessions`, () => {
  it.each([[], ['400'], ['plain'], ['fresh']])(
    'carries out the call over a new session, without a crash: %j',
    async (...args) => {
      const scene = await open(...args.flat())
      const { client, tell } = scene
      expect(textOf(await client.call('memo_count'))).toBe('1')
      await tell('forget')
      expect(textOf(await client.call('memo_count')), 'carried out once').toBe('2')
      expect(await tell('seen')).toMatchObject({ initialize: 2, calls: 2 })
      expect(typesOf(scene)).not.toContain('UPSTREAM_LOST')
      const ends = scene.gateway.records().filter(({ type }) => type === 'TOOL_CALL_COMPLETED')
      expect(ends.map(({ resent }) => resent)).toEqual([undefined, true])
      const headers = { authorization: `Bearer ${scene.gateway.token('operator')}` }
      const shown = (await (await fetch(`${scene.gateway.url}/api/servers/memo`, { headers })).json()) as Json
      expect(shown).toMatchObject({ state: 'ready', restarts: 0 })
    },
  )

  it('begins one new session for all calls that meet the expired one', async () => {
    const { client, tell } = await open()
    await tell('forget')
    const results = await Promise.all(Array.from({ length: 20 }, () => client.call('memo_count')))
    expect(results.map(textOf).sort()).toEqual(Array.from({ length: 20 }, (_, index) => String(index + 1)).sort())
    expect(await tell('seen')).toMatchObject({ initialize: 2, calls: 20 })
  })

  it('gets a call twice at most, if it never knows its session', async () => {
    const scene = await open()
    await scene.tell('refuse-calls')
    const before = await scene.tell('seen')
    const result = await scene.client.call('memo_count')
    expect(result._meta['sallyport/error']).toMatchObject({ code: 'UPSTREAM_GONE' })
    expect(textOf(result)).toContain('does not know its session')
    const after = await scene.tell('seen')
    expect(after.refused - before.refused).toBe(2)
    expect(typesOf(scene)).not.toContain('UPSTREAM_LOST')
    const end = { type: 'TOOL_CALL_FAILED', error: 'UPSTREAM_GONE', resent: true }
    expect(scene.gateway.records()).toContainEqual(expect.objectContaining(end))
  })

  it('is subscribed again, and gets the log level again', async () => {
    const { gateway, tell } = await open()
    const client = await openV1(new StreamableHTTPClientTransport(new URL(gateway.mcp)))
    undo.push(() => client.close())
    await client.plain.setLoggingLevel('warning')
    await client.subscribe('a://note')
    await client.call('memo_count')
    expect(await tell('seen')).toMatchObject({ subscribed: ['a://note'], levels: ['warning'] })
    await tell('forget')
    await client.call('memo_count')
    await eventually(
      () => tell('seen'),
      ({ subscribed, levels }) => subscribed.length === 2 && levels.length === 2,
    )
    await tell('update')
    await eventually(
      async () => client.received,
      (received) => received.some(({ method }) => method === 'notifications/resources/updated'),
    )
  })
  it('does not get a call again that it had begun, if it forgets the session and the stream of the answer', async () => {
    const { client, tell } = await open()
    const begun = client.call('memo_begin')
    await eventually(
      () => tell('seen'),
      ({ calls }) => calls === 1,
    )
    await tell('forget')
    await tell('cut')
    const result = await begun
    expect(result._meta['sallyport/error']).toMatchObject({ code: 'UPSTREAM_DIED', retryable: false })
    expect(textOf(result)).toContain('It may have been carried out')
    expect(await tell('seen')).toMatchObject({ calls: 1 })
    expect(textOf(await client.call('memo_count'))).toBe('2')
  })

  it('fails a call at once whose question it forgot before the answer', async () => {
    const { gateway, tell } = await open()
    let refused: unknown
    const client = await openV1(new StreamableHTTPClientTransport(new URL(gateway.mcp)))
    undo.push(() => client.close())
    expect(textOf(await client.call('memo_ask'))).toBe('Ada')
    client.plain.setRequestHandler(ElicitRequestSchema, async () => {
      refused = await tell('forget')
      return { action: 'accept', content: { name: 'Ada' } }
    })
    const result = await client.call('memo_ask')
    expect(refused).toBeDefined()
    expect(result._meta['sallyport/error']).toMatchObject({ code: 'UPSTREAM_DIED' })
    expect(textOf(result)).toContain('forgot the session before the answer')
    expect(textOf(await client.call('memo_count'))).toBe('1')
  })

  it('may have an error of its own that mentions a session', async () => {
    const { client, tell } = await open()
    await tell('fail-calls')
    const before = await tell('seen')
    expect(await client.call('memo_count')).toMatchObject({ error: { message: 'No such browser session' } })
    const after = await tell('seen')
    expect(after.refused - before.refused).toBe(2)
  })
})
