import { createHmac } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { createMcpServer, getSessionId, getUserId, type HttpServing, READ, serveHttp, WRITE } from '@sallyport/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LegacyClient, modernRequest, post } from '../harness/mcp-client.ts'
import { promise } from '../promises.ts'

const SECRET = 'a secret of thirty-two bytes or more, for tests'

const waiting = new EventEmitter()
let serving: HttpServing
beforeAll(async () => {
  const server = createMcpServer('tokens', { version: '1', auth: { jwt: { secret: SECRET, algorithms: ['HS256'] } } })
  server.tool('whoami', { description: 'Says who asks', permission: READ }, async () => {
    await new Promise((resolve) => setImmediate(resolve))
    return `${getUserId()} in ${getSessionId()}`
  })
  server.tool('change', { description: 'Changes something', permission: WRITE }, () => 'changed')
  server.tool('ask', { description: 'Asks, then changes', permission: WRITE }, async (_, { elicit }) => {
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } } } as const
    return (await elicit({ message: 'Really?', schema, key: 'ok' })).action
  })
  server.tool('wait', { description: 'Waits', permission: READ }, async () => {
    waiting.emit('wait')
    await once(waiting, 'go on')
  })
  serving = await serveHttp(server, { port: 0, maxRequestsPerUser: 2 })
})
afterAll(() => serving.close())

interface Token {
  readonly user?: string
  readonly session?: string
  readonly seconds?: number
  readonly secret?: string
  readonly permissions?: readonly string[]
}

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

function bearer(token: Token = {}): { authorization: string } {
  const { user = 'ann', session = 's', seconds = 60, secret = SECRET, permissions } = token
  const exp = Math.floor(Date.now() / 1_000) + seconds
  const body = `${encoded({ alg: 'HS256' })}.${encoded({ sub: user, session_id: session, exp, permissions })}`
  return { authorization: `Bearer ${body}.${createHmac('sha256', secret).update(body).digest('base64url')}` }
}

const whoami = { name: 'whoami', arguments: {} }

test(`a request without a token, or with a bad one, gets the challenge (${promise('KIT-1')})`, async () => {
  const body = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {} },
  }
  const none = await post(serving.url, body)
  expect([none.status, none.headers.get('www-authenticate')]).toEqual([401, expect.stringMatching(/^Bearer /)])
  const bad = await post(serving.url, body, bearer({ secret: SECRET.toUpperCase() }))
  expect([bad.status, bad.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('invalid_token')])
  expect((await post(serving.url, body, bearer({ seconds: -60 }))).status).toBe(401)
})

test('many callers at once each have their own identity, in both eras', async () => {
  const users = Array.from({ length: 20 }, (_, at) => `user-${at}`)
  const answers = await Promise.all(
    users.map(async (user) => {
      const headers = bearer({ user, session: 'work' })
      const modern = await modernRequest(serving.url, 'tools/call', whoami, headers)
      const legacy = await (await LegacyClient.open(serving.url, headers)).call('whoami')
      return [modern.message.result.content[0].text, legacy.content[0].text]
    }),
  )
  expect(answers).toEqual(users.map((user) => [`${user} in work`, `${user} in work`]))
})

test('a session belongs to one session of one user: a new token of theirs opens it, that of others does not', async () => {
  const { session } = await LegacyClient.open(serving.url, bearer({ session: 'one' }))
  const asked = async (headers: { authorization: string }): Promise<number> =>
    (await new LegacyClient(serving.url, session, headers).request('tools/list')).status
  expect(await asked(bearer({ session: 'one', seconds: 120 }))).toBe(200)
  expect(await asked(bearer({ session: 'two' }))).toBe(404)
  expect(await asked(bearer({ user: 'bea', session: 'one' }))).toBe(404)
})

test('within a session each request may do what its own token grants, not what the first one granted', async () => {
  const first = await LegacyClient.open(serving.url, bearer({ session: 'narrowed' }))
  expect((await first.call('change')).content[0].text).toBe('changed')
  const narrow = bearer({ session: 'narrowed', permissions: ['READ'] })
  const renewed = new LegacyClient(serving.url, first.session, narrow)
  expect((await renewed.request('tools/call', { name: 'change', arguments: {} })).message.error.code).toBe(-32602)
  const { tools } = (await renewed.request('tools/list')).message.result
  expect(tools.map(({ name }: { name: string }) => name)).toEqual(['wait', 'whoami'])
})

test('a call that waits for an answer does not continue with a token that grants less', async () => {
  const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }
  const call = (headers: { authorization: string }, more: object = {}) =>
    modernRequest(serving.url, 'tools/call', { name: 'ask', arguments: {}, _meta, ...more }, headers)
  const { requestState } = (await call(bearer())).message.result
  const inputResponses = { ok: { action: 'accept', content: { ok: true } } }
  const refused = await call(bearer({ permissions: ['READ'] }), { requestState, inputResponses })
  expect(refused.message.error.code).toBe(-32602)
  const renewed = await call(bearer({ seconds: 120 }), { requestState, inputResponses })
  expect(renewed.message.result.content[0].text).toBe('accept')
})

test('a user with too many requests in flight is refused, and others are not', async () => {
  const headers = bearer({ user: 'flood' })
  let begun = 0
  const bothBegun = new Promise<void>((resolve) => waiting.on('wait', () => ++begun === 2 && resolve()))
  const held = [1, 2].map(() => modernRequest(serving.url, 'tools/call', { name: 'wait', arguments: {} }, headers))
  await bothBegun
  expect((await modernRequest(serving.url, 'tools/call', whoami, headers)).status).toBe(503)
  expect((await modernRequest(serving.url, 'tools/call', whoami, bearer({ user: 'bea' }))).status).toBe(200)
  waiting.emit('go on')
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200])
  expect((await modernRequest(serving.url, 'tools/call', whoami, headers)).status).toBe(200)
})

test('a stream lasts no longer than its token', async () => {
  const headers = bearer({ session: 'short', seconds: 1 })
  const { session } = await LegacyClient.open(serving.url, headers)
  const stream = await fetch(serving.url, {
    headers: { ...headers, 'mcp-session-id': session, accept: 'text/event-stream' },
  })
  expect([stream.status, await stream.text()]).toEqual([200, ''])
})
