import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient, modernRequest, post } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { rawRequest, say } from '../harness/raw-http.ts'
import { MAIN, makePlace, REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const servers = {
  mcp_servers: { hostile: { command: 'node', args: [join(REPOSITORY, 'tests/fixtures/hostile-server.mjs')] } },
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

/** The credentials of a gateway, minted where they are not standing ones. */
async function mint(gateway: RunningGateway, wish: object): Promise<Record<string, string>> {
  const headers = { ...bearer(gateway.token('operator')), 'content-type': 'application/json' }
  const response = await fetch(`${gateway.url}/api/tokens`, { method: 'POST', headers, body: JSON.stringify(wish) })
  const { token } = (await response.json()) as { token: string }
  return bearer(token)
}

describe(`${promise('GW-21')} callers of a gateway that requires a token`, () => {
  let gateway: RunningGateway
  let agent: Record<string, string>
  let operator: Record<string, string>

  beforeAll(async () => {
    gateway = await runGateway({ config: servers, args: [] })
    agent = bearer(gateway.token('agent'))
    operator = bearer(gateway.token('operator'))
  })

  afterAll(() => gateway.stop())

  it.each(['/healthz', '/readyz'])('answers %s to everybody, with a word and nothing else', async (path) => {
    const answer = await eventually(
      () => say(gateway.url, rawRequest(gateway.url, { verb: 'GET', target: path })),
      ({ status }) => status === 200,
    )
    expect(answer.body).toMatch(/^(ok|ready)$/)
  })

  const paths = [
    '/',
    '/index.html',
    '/assets/x.js',
    '/metrics',
    '/mcp',
    '/mcp/claude-code.reviewer',
    '/api',
    '/api/',
    '/api/status',
    '/api/openapi.json',
    '/api/tokens',
    '/api/events',
    '/api/unknown',
    '/logout',
    '/login/x',
    '/healthz/',
    '/healthz/../api/status',
    '//api/status',
    '/HEALTHZ',
    '/.well-known/oauth-protected-resource',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/../../etc/passwd',
  ]

  it.each(paths)('answers %s to nobody without a token, whatever the verb', async (target) => {
    for (const verb of ['GET', 'POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const answer = await say(gateway.url, rawRequest(gateway.url, { verb, target }))
      expect(answer.status, verb).toBe(401)
      expect(answer.body).not.toContain(gateway.state)
    }
  })

  it('explains in a refusal how to authenticate', async () => {
    const answer = await post(gateway.mcp, { jsonrpc: '2.0', id: 1, method: 'ping' })
    expect(answer.headers.get('www-authenticate')).toContain('Bearer')
    expect(answer.message.error.message).toContain('sallyport token')
  })

  it('accepts a token only in its header', async () => {
    const token = gateway.token('agent')
    for (const target of [
      `/mcp?token=${token}`,
      `/mcp?access_token=${token}`,
      `/mcp?authorization=Bearer%20${token}`,
    ]) {
      expect((await say(gateway.url, rawRequest(gateway.url, { target }))).status).toBe(401)
    }
    for (const line of [`cookie: token=${token}`, `x-api-key: ${token}`, `mcp-session-id: ${token}`]) {
      expect((await say(gateway.url, rawRequest(gateway.url, { lines: [line] }))).status).toBe(401)
    }
    const asOperator = `/api/status?token=${gateway.token('operator')}`
    expect((await say(gateway.url, rawRequest(gateway.url, { verb: 'GET', target: asOperator }))).status).toBe(401)
  })

  it.each([
    ['a token nobody made', () => `Bearer spa_${'A'.repeat(43)}`],
    ['a token with a letter too many', () => `Bearer ${gateway.token('agent')}x`],
    ['a token with a letter too few', () => `Bearer ${gateway.token('agent').slice(0, -1)}`],
    ['a token in other letters', () => `Bearer ${gateway.token('agent').toUpperCase()}`],
    ['two tokens in one', () => `Bearer ${gateway.token('agent')} ${gateway.token('operator')}`],
    ['two tokens in a list', () => `Bearer ${gateway.token('agent')}, Bearer ${gateway.token('operator')}`],
    ['another scheme', () => `Basic ${Buffer.from(`x:${gateway.token('agent')}`).toString('base64')}`],
    ['no scheme', () => gateway.token('agent')],
    ['nothing', () => ''],
    ['nothing but the scheme', () => 'Bearer'],
    ['a scheme and blanks', () => 'Bearer    '],
    ['a token without a signature', () => 'Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.'],
    ['8 KB of token', () => `Bearer ${'a'.repeat(8_000)}`],
  ])('does not let in %s', async (_what, authorization) => {
    for (const target of ['/mcp', '/api/status']) {
      const headers = { authorization: authorization() }
      const answer = await say(gateway.url, rawRequest(gateway.url, { target, headers }))
      expect(answer.status, target).toBe(401)
      expect(answer.body, 'what was sent is not repeated').not.toContain(gateway.token('agent').slice(4, 20))
    }
  })

  it('refuses two Authorization headers, even two good ones', async () => {
    const lines = [agent, operator].map(({ authorization }) => `authorization: ${authorization}`)
    for (const target of ['/mcp', '/api/status']) {
      expect((await say(gateway.url, rawRequest(gateway.url, { target, lines }))).status).toBe(400)
    }
  })

  it.each(['/api/status', '/api/tokens', '/api/openapi.json', '/api/unknown', '/', '/logout', '/metrics'])(
    'refuses an agent’s token on %s',
    async (target) => {
      for (const verb of ['GET', 'POST', 'DELETE']) {
        const answer = await say(gateway.url, rawRequest(gateway.url, { verb, target, headers: agent }))
        expect(answer.status, verb).toBe(403)
      }
    },
  )

  it('lets the operator use tools and the admin plane', async () => {
    expect((await modernRequest(gateway.mcp, 'tools/list', {}, operator)).status).toBe(200)
    expect((await fetch(`${gateway.url}/api/status`, { headers: operator })).status).toBe(200)
  })

  it('does not let one principal use another’s session, cancel in it, listen to it or end it', async () => {
    const mine = await LegacyClient.open(gateway.mcp, agent)
    const strangers = [
      operator,
      await mint(gateway, { agent: 'codex' }),
      await mint(gateway, { agent: 'any', session: 'other' }),
    ]
    const running = mine.request('tools/call', { name: 'hostile_sleep', arguments: { ms: 200 } }, 'mine')
    for (const stranger of strangers) {
      const headers = { ...stranger, 'mcp-session-id': mine.session }
      const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'mine' } }
      expect((await post(gateway.mcp, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, headers)).status).toBe(404)
      expect((await post(gateway.mcp, cancelled, headers)).status).toBe(404)
      expect((await fetch(gateway.mcp, { headers })).status).toBe(404)
      expect((await fetch(gateway.mcp, { method: 'DELETE', headers })).status).toBe(404)
    }
    expect((await running).message.result.content[0].text).toBe('done')
  })

  it('does not let a session be used at another path than it was opened at', async () => {
    const mine = await LegacyClient.open(`${gateway.mcp}/codex.default`, agent)
    const headers = { ...agent, 'mcp-session-id': mine.session }
    expect((await post(gateway.mcp, { jsonrpc: '2.0', id: 1, method: 'ping' }, headers)).status).toBe(404)
  })

  it('lets a token that was made for an agent use no other agent’s path', async () => {
    const codex = await mint(gateway, { agent: 'codex', profile: 'reviewer' })
    const status = async (path: string): Promise<number> =>
      (await modernRequest(`${gateway.mcp}${path}`, 'tools/list', {}, codex)).status
    expect(await status('')).toBe(200)
    expect(await status('/codex.reviewer')).toBe(200)
    expect(await status('/codex.writer')).toBe(403)
    expect(await status('/codex.default')).toBe(403)
    expect(await status('/claude-code.reviewer')).toBe(403)
    expect(await status('/any.reviewer')).toBe(403)
  })

  it('refuses a revoked token at once, and ends the sessions that were opened with it', async () => {
    const wish = JSON.stringify({ agent: 'codex' })
    const headers = { ...operator, 'content-type': 'application/json' }
    const minted = await fetch(`${gateway.url}/api/tokens`, { method: 'POST', headers, body: wish })
    const { token, record } = (await minted.json()) as { token: string; record: { id: string } }
    const client = await LegacyClient.open(gateway.mcp, bearer(token))
    await fetch(`${gateway.url}/api/tokens/${record.id}`, { method: 'DELETE', headers: operator })
    expect((await client.request('ping')).status).toBe(401)
  })

  it(`${promise('GW-19')} gives every session and connection of a credential the same list`, async () => {
    const lists = await Promise.all(
      [agent, agent, operator, await mint(gateway, { agent: 'codex' })].map(async (headers) => {
        const client = await LegacyClient.open(gateway.mcp, headers)
        return JSON.stringify((await client.request('tools/list')).message.result)
      }),
    )
    expect(new Set(lists).size).toBe(1)
  })

  it('writes no token into its log or its messages', () => {
    const words = JSON.stringify(gateway.records()) + gateway.stderr()
    for (const role of ['agent', 'operator'] as const) expect(words).not.toContain(gateway.token(role).slice(4))
  })
})

describe(`${promise('GW-21')} callers of a gateway that requires no token`, () => {
  let gateway: RunningGateway

  beforeAll(async () => {
    gateway = await runGateway({ config: servers })
  })

  afterAll(() => gateway.stop())

  it.each(['/api/status', '/api/tokens', '/api/openapi.json'])('still have no access to %s', async (path) => {
    const status = async (headers: Record<string, string>) => (await fetch(`${gateway.url}${path}`, { headers })).status
    expect(await status({})).toBe(401)
    expect(await status(bearer('nonsense'))).toBe(403)
    expect(await status(bearer(gateway.token('agent')))).toBe(403)
    expect(await status(bearer(gateway.token('operator')))).toBe(200)
  })

  it('get no page but the one to log in', async () => {
    for (const path of ['/', '/index.html']) {
      const response = await fetch(`${gateway.url}${path}`)
      expect(response.status).toBe(401)
      expect(await response.text()).toContain('sallyport ui')
    }
  })

  it.each(['0.0.0.0', '::', '127.0.0.1.evil', '10.0.0.1'])(
    'cannot come from other machines: --host %s is refused',
    (host) => {
      const place = makePlace()
      const args = ['serve', '--no-auth', '--host', host, '--port', '0', '--home', place.home, '--state', place.state]
      const { status, stderr } = spawnSync(process.execPath, [MAIN, ...args], { encoding: 'utf8', timeout: 60_000 })
      place.remove()
      expect(stderr).toContain('--no-auth')
      expect(status).toBe(2)
    },
  )
})
