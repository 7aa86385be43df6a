// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration refers to variables.

import { createHmac, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { processBehind, stdioEntry } from '../faults/fault-bench.ts'
import { LegacyClient, modernRequest, post } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const [FIRST, SECOND] = [randomBytes(48).toString('base64url'), randomBytes(48).toString('base64url')]
const own = stdioEntry([], { per: 'session' })
const byFirst = { jwt: { secret: '${FIRST}' } }

/** A token as an identity provider with a shared key (HS256) would give it. */
function bearer(secret: string, claims: object): { authorization: string } {
  const encoded = [{ alg: 'HS256' }, { exp: Math.floor(Date.now() / 1_000) + 3_600, ...claims }].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  )
  const signature = createHmac('sha256', secret).update(encoded.join('.')).digest('base64url')
  return { authorization: `Bearer ${[...encoded, signature].join('.')}` }
}

let gateway: RunningGateway

beforeAll(async () => {
  const config = { auth: byFirst, mcp_servers: { own } }
  gateway = await runGateway({ config, args: [], env: { FIRST, SECOND } })
})

afterAll(() => gateway.stop())

const reloads = (): number => gateway.records().filter(({ type }) => type === 'CONFIG_RELOADED').length

async function reload(config: object): Promise<void> {
  const before = reloads()
  gateway.writeConfig({ mcp_servers: { own }, ...config })
  await eventually(reloads, (count) => count > before)
}

const statusOf = async (headers: Record<string, string>): Promise<number> =>
  (await modernRequest(gateway.mcp, 'tools/list', {}, headers)).status
const agent = () => ({ authorization: `Bearer ${gateway.token('agent')}` })

describe(`${promise('GW-5')} a process for each session`, () => {
  it('is separate for each user and session: an issuer may give two users the same session', async () => {
    const pidOf = async (sub: string, session_id: string): Promise<number> => {
      const client = await LegacyClient.open(gateway.mcp, bearer(FIRST, { sub, session_id }))
      return (await processBehind(client, 'own')).pid
    }
    const ann = await pidOf('ann', 'same')
    const pids = [ann, await pidOf('bob', 'same'), await pidOf('ann', 'other')]
    expect(new Set(pids).size).toBe(3)
    expect(await pidOf('ann', 'same')).toBe(ann)
  })
})

describe(`${promise('GW-12')} a changed configuration`, () => {
  it('applies at once to known callers: another key, none, and the first again', async () => {
    const [first, second] = [bearer(FIRST, { sub: 'ann' }), bearer(SECOND, { sub: 'ann' })]
    const session = await LegacyClient.open(gateway.mcp, first)
    expect([await statusOf(first), await statusOf(second)]).toEqual([200, 401])
    await reload({ auth: { jwt: { secret: '${SECOND}' } } })
    expect([await statusOf(first), await statusOf(second)]).toEqual([401, 200])
    expect((await session.request('ping')).status).toBe(401)
    await reload({})
    expect([await statusOf(first), await statusOf(second)]).toEqual([401, 401])
    expect(await statusOf(agent())).toBe(200)
    await reload({ auth: byFirst })
    expect([await statusOf(first), await statusOf(second)]).toEqual([200, 401])
    expect((await session.request('ping')).status).toBe(200)
  })

  it('sets how many sessions there are and how large a request is', async () => {
    const [first, second] = await Promise.all([agent(), agent()].map((who) => LegacyClient.open(gateway.mcp, who)))
    const padded = { jsonrpc: '2.0', id: 1, method: 'ping', params: { padding: 'x'.repeat(5_000) } }
    const send = async (): Promise<number> =>
      (await post(gateway.mcp, padded, { ...agent(), 'mcp-session-id': second?.session ?? '' })).status
    expect([(await first?.request('ping'))?.status, await send()]).toEqual([200, 200])
    await reload({ gateway: { max_sessions: 1, max_body: '4KB' } })
    expect(await send()).toBe(413)
    const third = await LegacyClient.open(gateway.mcp, agent())
    const fourth = await LegacyClient.open(gateway.mcp, agent())
    expect([(await third.request('ping')).status, (await fourth.request('ping')).status]).toEqual([404, 200])
    await reload({})
    expect(await send()).not.toBe(413)
  })

  it('sets how many calls may be in flight, even while some are', async () => {
    const client = await LegacyClient.open(gateway.mcp, agent())
    const echo = async (): Promise<object> => await client.call('own_echo')
    await reload({ gateway: { max_calls_in_flight: 1 } })
    const hanging = client.request('tools/call', { name: 'own_hang', arguments: {} }, 'hanging')
    await eventually(
      () => gateway.records(),
      (records) => records.some(({ tool_name }) => tool_name === 'mcp__own__hang'),
    )
    expect(await echo()).toMatchObject({ isError: true, _meta: { 'sallyport/error': { code: 'OVERLOADED' } } })
    await reload({ gateway: { max_calls_in_flight: 100 } })
    expect(await echo()).toMatchObject({ content: [{ text: '{}' }] })
    await client.notify('notifications/cancelled', { requestId: 'hanging' })
    await hanging
  })

  it('warns that settings of open ports need a restart', async () => {
    const tools = { allowed_hosts: ['tools.example.org'], allowed_origins: ['https://tools.example.org'] }
    await reload({ gateway: { host: 'localhost', port: 4_999, ...tools } })
    const stderr = await eventually(gateway.stderr, (text) => text.includes('allowed_origins'))
    for (const key of ['host', 'port', 'allowed_hosts', 'allowed_origins'])
      expect(stderr).toContain(`gateway.${key} has changed; that takes effect at the next start.`)
    expect(await statusOf(agent())).toBe(200)
    expect(stderr).not.toContain(FIRST)
  })
})
