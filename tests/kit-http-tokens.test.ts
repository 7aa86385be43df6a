import { createHmac } from 'node:crypto'
import { createMcpServer, getSessionId, getUserId, type HttpServing, READ, serveHttp } from '@sallyport/kit'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LegacyClient, modernRequest, post } from './mcp-client.ts'
import { promise } from './promises.ts'

const SECRET = 'a secret of thirty-two bytes or more, for tests'

let serving: HttpServing
beforeAll(async () => {
  const server = createMcpServer('tokens', { version: '1', auth: { jwt: { secret: SECRET, algorithms: ['HS256'] } } })
  server.tool('whoami', { description: 'Says who asks', permission: READ }, async () => {
    await new Promise((resolve) => setImmediate(resolve))
    return `${getUserId()} in ${getSessionId()}`
  })
  serving = await serveHttp(server, { port: 0 })
})
afterAll(() => serving.close())

interface Token {
  readonly user?: string
  readonly session?: string
  readonly seconds?: number
  readonly secret?: string
}

const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url')

function bearer({ user = 'ann', session = 's', seconds = 60, secret = SECRET }: Token = {}): { authorization: string } {
  const exp = Math.floor(Date.now() / 1_000) + seconds
  const body = `${encoded({ alg: 'HS256' })}.${encoded({ sub: user, session_id: session, exp })}`
  return { authorization: `Bearer ${body}.${createHmac('sha256', secret).update(body).digest('base64url')}` }
}

const whoami = { name: 'whoami', arguments: {} }

test(`a request without a token, or with a bad one, is told what is wanted (${promise('KIT-1')})`, async () => {
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

test('many callers at once are each taken for themselves, in both eras', async () => {
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

test('a stream lasts no longer than its token', async () => {
  const headers = bearer({ session: 'short', seconds: 1 })
  const { session } = await LegacyClient.open(serving.url, headers)
  const stream = await fetch(serving.url, {
    headers: { ...headers, 'mcp-session-id': session, accept: 'text/event-stream' },
  })
  expect([stream.status, await stream.text()]).toEqual([200, ''])
})
