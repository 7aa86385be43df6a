import { Agent, request } from 'node:http'
import { hc } from 'hono/client'
import { describe, expect, it } from 'vitest'
import { OPERATOR, openAdminTestGateway } from '../admin/admin.test-kit.ts'
import { type Api, createApi } from './api.ts'

describe('an error in a request', () => {
  it('always gets an answer of the same shape', async () => {
    const { api } = await openAdminTestGateway()
    const cases: readonly (readonly [string, object, number, string])[] = [
      ['/api/statsu', {}, 404, 'ROUTE_UNKNOWN'],
      ['/api', {}, 404, 'ROUTE_UNKNOWN'],
      ['/api/status', { method: 'POST' }, 405, 'VERB_REFUSED'],
      ['/api/servers/nowhere', {}, 404, 'SERVER_UNKNOWN'],
      ['/api/tools/nothing', {}, 404, 'TOOL_UNKNOWN'],
      ['/api/events?limt=3', {}, 400, 'INVALID_PARAMS'],
      ['/api/events?limit=-1', {}, 400, 'INVALID_PARAMS'],
      ['/api/events?limit=1&limit=2', {}, 400, 'INVALID_PARAMS'],
      ['/api/events?since=yesterday', {}, 400, 'INVALID_PARAMS'],
      ['/api/call', { method: 'POST' }, 400, 'INVALID_PARAMS'],
      ['/api/call', { method: 'POST', body: '{"tool":' }, 400, 'PARSE_ERROR'],
      ['/api/call', { method: 'POST', body: '{"tool":"x","tool":"y"}' }, 400, 'PARSE_ERROR'],
      ['/api/call', { method: 'POST', body: '{"tool":"x","arguments":{"n":1e999}}' }, 400, 'PARSE_ERROR'],
      ['/api/call', { method: 'POST', body: Buffer.from([0x22, 0xff, 0x22]) }, 400, 'PARSE_ERROR'],
      ['/api/call', { method: 'POST', body: '['.repeat(100_000) }, 400, 'PARSE_ERROR'],
      ['/api/call', { method: 'POST', body: '[]' }, 400, 'INVALID_PARAMS'],
      ['/api/call', { method: 'POST', body: { tool: 'x', arguments: [] } }, 400, 'INVALID_PARAMS'],
      ['/api/call', { method: 'POST', body: { tool: 'x', dry_run: true } }, 400, 'INVALID_PARAMS'],
      ['/api/call', { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } }, 415, 'MEDIA_REFUSED'],
      ['/api/call', { method: 'POST', body: `"${'x'.repeat(1_000_000)}"` }, 413, 'BODY_TOO_LARGE'],
    ]
    for (const [path, options, status, code] of cases) {
      const reply = await api(path, options)
      expect({ path, ...reply.body, status: reply.status }).toMatchObject({ path, status, error: { code } })
      expect(Object.keys(reply.body)).toEqual(['error'])
    }
  })

  it('gets a suggestion of what was probably meant', async () => {
    const { api } = await openAdminTestGateway()
    const message = async (path: string): Promise<string> => (await api(path)).body.error.message
    expect(await message('/api/statsu')).toContain('Did you mean "/api/status"?')
    expect(await message('/api/servers/hostlie')).toContain('Did you mean "hostile"?')
    expect(await message('/api/events?limt=3')).toContain('Did you mean "limit"?')
    expect(await message('/api/events?type=TOOL_CALL_STARTD')).toContain('Did you mean "TOOL_CALL_STARTED"?')
    expect(await message('/api/tools/ehco')).toContain('Did you mean "echo"?')
  })

  it('is found in a body of unknown length before the end of the body', async () => {
    const { url, operatorToken } = await openAdminTestGateway()
    const agent = new Agent()
    const status = await new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' }
      const asked = request(`${url}/api/call`, { method: 'POST', headers, agent }, (response) => {
        resolve(response.statusCode)
        asked.destroy()
      })
      asked.on('error', reject)
      // The request never ends: the answer must not wait for its end.
      asked.write(' '.repeat(1_000_001))
    })
    expect(status).toBe(413)
  })
})

it('serves only the operator, even inside one process', async () => {
  const { context } = await openAdminTestGateway()
  const api = createApi(context)
  for (const principal of [undefined, { ...OPERATOR, role: 'agent' as const }]) {
    const response = await api.request('/api/status', {}, { principal })
    expect(response.status).toBe(403)
  }
  expect((await api.request('/api/status', {}, { principal: OPERATOR })).status).toBe(200)
})

it('answers a bug with an incident id and no internal details', async () => {
  const { context } = await openAdminTestGateway()
  const broken = { ...context, urls: () => JSON.parse('a secret') }
  const response = await createApi(broken).request('/api/status', {}, { principal: OPERATOR })
  expect(response.status).toBe(500)
  expect(await response.text()).toMatch(
    /^\{"error":\{"code":"INTERNAL","message":"[^"]*\(incident [0-9a-f]{16}\)\."\}\}$/,
  )
})

it('has a client with types from the routes', async () => {
  const { url, operatorToken, gateway } = await openAdminTestGateway()
  const client = hc<Api>(url, { headers: { authorization: `Bearer ${operatorToken}` } })
  const answer = await client.api.status.$get()
  if (!answer.ok) throw new Error('An answer was expected.')
  const status = await answer.json()
  expect(status).toMatchObject({
    version: '1.2.3',
    pid: process.pid,
    home: { path: gateway.home.path, origin: 'flag' },
    state: gateway.state,
    urls: [url],
    callsInFlight: 0,
    sessions: 0,
    servers: { disabled: 1 },
  })
  const refused = await client.api.servers[':id'].$get({ param: { id: 'nowhere' } })
  if (refused.ok) throw new Error('A refusal was expected.')
  expect((await refused.json()).error.code).toBe('SERVER_UNKNOWN')
})
