// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the configuration refers to variables.

import { type ChildProcess, spawn } from 'node:child_process'
import { createHmac, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findLastingPort } from '../harness/lasting-port.ts'
import { LegacyClient, modernRequest } from '../harness/mcp-client.ts'
import { endProcess, makePlace, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const SECRET = randomBytes(48).toString('base64url')
const fixture = (name: string): string => join(REPOSITORY, 'tests/fixtures', name)

let gateway: RunningGateway
let records: ChildProcess
let recordsUrl: string
let stolen: string
let arrivals: string

/** A new token each time; without a session it is the default one of this user. */
function as(sub: string, more: object = {}): { authorization: string } {
  const exp = Math.floor(Date.now() / 1_000) + 600
  const parts = [{ alg: 'HS256' }, { sub, exp, jti: randomUUID(), ...more }]
  const body = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return { authorization: `Bearer ${body}.${createHmac('sha256', SECRET).update(body).digest('base64url')}` }
}

async function call(headers: Record<string, string>, name: string, args: object = {}): Promise<string> {
  const params = { name, arguments: args }
  return JSON.stringify((await modernRequest(gateway.mcp, 'tools/call', params, headers)).message)
}

/** `records` is a server of the kit, over HTTP; `thief` and `liar` are hostile; what reaches `outside` is noted. */
beforeAll(async () => {
  const place = makePlace()
  ;[stolen, arrivals] = [join(place.home, 'stolen'), join(place.home, 'arrivals')]
  const [port, kitPort] = [await findLastingPort(), await findLastingPort()]
  recordsUrl = `http://127.0.0.1:${kitPort}/mcp`
  const lying = { command: process.execPath, args: [fixture('lying-server.mjs'), stolen], identity: 'forward' }
  place.writeConfig({
    gateway: { port, startup_wait: '50s' },
    auth: { jwt: { secret: '${SECRET}' } },
    governance: { enforce: true, escalation: { policy_violations: false } },
    mcp_servers: {
      records: { url: recordsUrl, identity: 'forward', trusted: true },
      thief: { ...lying, trusted: true },
      liar: lying,
      outside: { command: process.execPath, args: [fixture('witness-server.mjs'), 'outside', arrivals] },
    },
  })
  const open = { requires_approval: false }
  const names = ['records/*', 'thief/*', 'liar/*', 'outside/send'].map((name) => [name, open])
  writeFileSync(join(place.home, 'tools.yaml'), JSON.stringify({ tools: Object.fromEntries(names) }))
  const env = { SECRET, SALLYPORT_KEYS: join(place.state, '../keys') }
  const jwksUri = `http://127.0.0.1:${port}/.well-known/jwks.json`
  records = spawn(process.execPath, [fixture('forwarded-server.mjs'), '--http'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      AUTH: JSON.stringify({ gateway: { jwksUri, audience: 'records' } }),
      SALLYPORT_DATA: join(place.state, '../data'),
      PORT: String(kitPort),
    },
  })
  await once(createInterface({ input: records.stdout as NonNullable<ChildProcess['stdout']> }), 'line')
  gateway = await runGateway({ place, args: [], port: 'of the home', env })
})

afterAll(async () => {
  await gateway.stop()
  await endProcess(records)
})

const hasLeft = (mark: string): boolean => readFileSync(arrivals, 'utf8').includes(mark)

describe(`a caller token that a server has (${promise('SEN-19')})`, () => {
  it('is refused by every other server, wherever it is sent', async () => {
    expect(await call(as('ada'), 'thief_steal')).toContain('done')
    const token = readFileSync(stolen, 'utf8')
    expect(token.split('.')).toHaveLength(3)
    const params = { name: 'whoami', arguments: {}, _meta: { 'sallyport/caller': token } }
    const direct = await modernRequest(recordsUrl, 'tools/call', params)
    expect(direct.message.error.message).toMatch(/caller token/)
    expect(JSON.stringify(direct.message)).not.toContain('"userId"')
    // At the gateway, as a credential and beside one: it is no credential, and it is not passed on.
    expect((await modernRequest(gateway.mcp, 'tools/list', {}, { authorization: `Bearer ${token}` })).status).toBe(401)
    const own = { name: 'records_whoami', arguments: {}, _meta: { 'sallyport/caller': token } }
    const { message } = await modernRequest(gateway.mcp, 'tools/call', own, as('bob'))
    expect(message.result.structuredContent).toMatchObject({ userId: 'bob' })
  })
})

describe(`what a server says about private data (${promise('SEN-20')}, ${promise('SEN-2')})`, () => {
  const BOB = { session_id: 'mine' }

  it('concerns the session of its call only, whatever it says', async () => {
    expect(await call(as('bob', BOB), 'outside_send', { mark: 'race-1-1-1' })).toContain('arrived')
    const accused = { user: 'bob', sub: 'bob', session: 'mine', sessionId: 'mine', session_id: 'mine' }
    expect(await call(as('eve', { session_id: 'hers' }), 'thief_accuse', accused)).toContain('done')
    expect(await call(as('bob', BOB), 'outside_send', { mark: 'race-1-1-2' })).toContain('arrived')
    expect(await call(as('bob', BOB), 'records_post')).toContain('posted')
    expect(await call(as('eve', { session_id: 'hers' }), 'outside_send', { mark: 'race-1-1-3' })).toContain(
      'PRIVATE_SESSION',
    )
    expect(['race-1-1-1', 'race-1-1-2', 'race-1-1-3'].map(hasLeft)).toEqual([true, true, false])
  })

  it('changes nothing at all if the server is not trusted', async () => {
    expect(await call(as('carl'), 'liar_accuse', { user: 'carl' })).toContain('done')
    expect(await call(as('carl'), 'outside_send', { mark: 'race-1-2-1' })).toContain('arrived')
  })
})

describe(`a label (${promise('SEN-1')})`, () => {
  it.each([
    ['with a session', { session_id: 'work' }],
    ['without a session', {}],
  ])('is not shed by a refreshed token, another agent, a new connection or another era: %s', async (kind, claims) => {
    const user = `dora ${kind}`
    expect(await call(as(user, claims), 'records_load')).toContain('salaries')
    const tries = [
      as(user, claims),
      as(user, { ...claims, exp: Math.floor(Date.now() / 1_000) + 3_600 }),
      as(user, { ...claims, agent: 'codex' }),
      as(user, { ...claims, label: 'PUBLIC', private: false, 'sallyport/private_data': { sensitivity: 'PUBLIC' } }),
    ]
    for (const headers of tries) {
      expect(await call(headers, 'outside_send', { mark: 'race-1-3-1' })).toContain('PRIVATE_SESSION')
      const legacy = await LegacyClient.open(gateway.mcp, headers, 'another client')
      expect(JSON.stringify(await legacy.call('outside_send', { mark: 'race-1-3-1' }))).toContain('PRIVATE_SESSION')
      expect(JSON.stringify(await legacy.call('records_post'))).toContain('PRIVATE_SESSION')
    }
    expect(hasLeft('race-1-3-1')).toBe(false)
    expect(await call(as('somebody else', claims), 'records_post')).toContain('posted')
  })
})
