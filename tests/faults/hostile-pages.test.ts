import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rawRequest, say } from '../harness/raw-http.ts'
import { type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const HEALTH = { verb: 'GET', target: '/healthz' }

let gateway: RunningGateway

beforeAll(async () => {
  gateway = await runGateway()
})

afterAll(() => gateway.stop())

const errorOf = (answer: { readonly body: string }) => JSON.parse(answer.body).error

describe(`${promise('GW-21')} names that were rebound to the gateway’s address`, () => {
  const port = (): string => new URL(gateway.url).port
  const hosts = [
    'evil.example',
    'evil.example:%',
    'localhost.evil:%',
    'localhost.:%',
    '127.0.0.1.evil:%',
    '127.1:%',
    '127.0.0.2:%',
    '0.0.0.0:%',
    '0:%',
    '2130706433:%',
    '0x7f000001:%',
    '[::]:%',
    '[::ffff:127.0.0.1]:%',
    '127.0.0.1',
    'localhost',
    '127.0.0.1:1',
    '127.0.0.1:0%',
    'user@127.0.0.1:%',
    '127.0.0.1:%, evil.example',
    '127.0.0.1:%/',
    ' ',
    'null',
  ]

  it.each(hosts)('refuses the Host %s on every path', async (host) => {
    for (const target of ['/mcp', '/api/status', '/healthz', '/']) {
      const headers = { host: host.replace('%', port()) }
      const answer = await say(gateway.url, rawRequest(gateway.url, { target, headers }))
      expect(answer.status, target).toBe(403)
      expect(errorOf(answer).data.code).toBe('HOST_REFUSED')
    }
  })

  it.each([[[]], [['host: evil.example']], [['host: 127.0.0.1:%']]])('requires exactly one Host: %j', async (more) => {
    const lines = (more as string[]).map((line) => line.replace('%', port()))
    const headers = lines.length === 0 ? { host: undefined } : {}
    expect((await say(gateway.url, rawRequest(gateway.url, { headers, lines }))).status).toBe(403)
  })

  it.each(['127.0.0.1:%', 'localhost:%', 'LOCALHOST:%', '[::1]:%'])('takes the Host %s', async (host) => {
    const headers = { host: host.replace('%', port()) }
    expect((await say(gateway.url, rawRequest(gateway.url, { ...HEALTH, headers }))).status).toBe(200)
  })

  const origins = [
    'null',
    '',
    'http://evil.example',
    'http://evil.example:%',
    'http://localhost.evil:%',
    'http://127.0.0.1:1',
    'http://127.0.0.1',
    'https://127.0.0.1:%',
    'http://127.1:%',
    'http://localhost:%/',
    'http://localhost:%.evil',
    'file://',
    'chrome-extension://abcdef',
    'http://LOCALHOST:%',
    'http://127.0.0.1:%, http://evil.example',
  ]

  it.each(origins)('refuses the Origin %j on every path', async (origin) => {
    for (const target of ['/mcp', '/api/status', '/healthz', '/']) {
      const headers = { origin: origin.replace('%', port()) }
      const answer = await say(gateway.url, rawRequest(gateway.url, { target, headers }))
      expect(answer.status, target).toBe(403)
      expect(errorOf(answer).data.code).toBe('ORIGIN_REFUSED')
      expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    }
  })

  it('refuses two Origins, one of them its own', async () => {
    const lines = [`origin: ${gateway.url}`, 'origin: http://evil.example']
    expect((await say(gateway.url, rawRequest(gateway.url, { lines }))).status).toBe(403)
  })

  it.each(['http://127.0.0.1:%', 'http://localhost:%'])('takes its own Origin %s', async (origin) => {
    const headers = { origin: origin.replace('%', port()) }
    expect((await say(gateway.url, rawRequest(gateway.url, { ...HEALTH, headers }))).status).toBe(200)
  })
})
