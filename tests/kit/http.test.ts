import { once } from 'node:events'
import { createMcpServer, getUserId, type HttpOptions, type McpServer, READ, serveHttp } from '@sallyport/kit'
import { afterEach, describe, expect, test } from 'vitest'
import { LegacyClient, MODERN_ENVELOPE, modernRequest, post } from '../harness/mcp-client.ts'
import { RawConnection, rawRequest, say } from '../harness/raw-http.ts'

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

interface Served {
  readonly url: string
  readonly server: McpServer
  /** Emits `begun` and `aborted` of the tool that waits. */
  readonly events: EventTarget
  close(): Promise<void>
}

/** Whoever sends `authorization: <name>` is that user. */
async function serve(options: Partial<HttpOptions> = {}): Promise<Served> {
  const server = createMcpServer('http', {
    version: '1',
    auth: { jwt: { secret: 'unused, for callers are identified below' } },
    onBug: () => undefined,
  })
  const events = new EventTarget()
  server.authenticate = async ({ authorization = 'ann' }) =>
    authorization === 'nobody'
      ? { status: 401, wwwAuthenticate: 'Bearer realm="x"', problem: 'No.' }
      : { identity: { userId: String(authorization), sessionId: 's' } }
  const say = (description: string) => ({ description, permission: READ }) as const
  server.tool('whoami', say('Says who asks'), () => getUserId())
  server.tool('noisy', say('Tells how far it is'), (_args, context) => {
    context.progress(1, 2)
    context.log('error', 'half')
    return 'done'
  })
  server.tool('wait', say('Waits'), (_args, { signal }) => {
    events.dispatchEvent(new Event('begun'))
    signal.addEventListener('abort', () => events.dispatchEvent(new Event('aborted')))
    return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  })
  server.tool('ask', say('Asks'), async (_args, context) => {
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } }, required: ['ok'] } as const
    return JSON.stringify(await context.elicit({ message: 'Well?', schema, key: 'ok' }))
  })
  server.resource('notes://all', {}, () => 'all')
  const serving = await serveHttp(server, { port: 0, ...options })
  closers.push(serving.close)
  return { ...serving, server, events }
}

const CALL = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'wait', arguments: {} } }
const MODERN_CALL = { ...CALL, params: { ...CALL.params, _meta: MODERN_ENVELOPE } }
const MODERN_HEADERS = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'wait' }
const text = (message: Record<string, any>): string => message.result.content[0].text

describe('who asks', () => {
  test('is determined for every request, and handlers know it in both eras', async () => {
    const { url } = await serve()
    const headers = { authorization: 'bea' }
    const modern = await modernRequest(url, 'tools/call', { name: 'whoami', arguments: {} }, headers)
    expect(text(modern.message)).toBe('bea')
    const legacy = await LegacyClient.open(url, headers)
    expect((await legacy.call('whoami')).content[0].text).toBe('bea')
  })

  test('is refused with a challenge if it is unknown, before the body is read', async () => {
    const { url } = await serve()
    const answer = await post(url, 'not even JSON', { authorization: 'nobody' })
    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="x"')
  })

  test('cannot use the session of another, whatever the verb', async () => {
    const { url } = await serve()
    const { session } = await LegacyClient.open(url, { authorization: 'ann' })
    const headers = { authorization: 'bea', 'mcp-session-id': session, accept: 'text/event-stream' }
    const posted = await post(url, { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { ...headers, accept: '*/*' })
    expect(posted.status).toBe(404)
    for (const method of ['GET', 'DELETE']) expect((await fetch(url, { method, headers })).status).toBe(404)
    const mine = new LegacyClient(url, session, { authorization: 'ann' })
    expect((await mine.request('tools/list')).status).toBe(200)
  })

  test('cannot continue the parked call of another', async () => {
    const { url } = await serve()
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } }
    const call = (user: string, more: object = {}) =>
      modernRequest(url, 'tools/call', { name: 'ask', arguments: {}, _meta, ...more }, { authorization: user })
    const { requestState } = (await call('ann')).message.result
    const inputResponses = { ok: { action: 'accept', content: { ok: true } } }
    expect((await call('bea', { requestState, inputResponses })).message.error.code).toBe(-32602)
    expect(text((await call('ann', { requestState, inputResponses })).message)).toContain('"ok":true')
  })
})

describe('an answer', () => {
  test('is JSON, or a stream if something comes before it', async () => {
    const { url } = await serve()
    const client = await LegacyClient.open(url)
    const quiet = await client.request('tools/call', { name: 'whoami', arguments: {} })
    expect(quiet.headers.get('content-type')).toBe('application/json')
    const noisy = await client.request('tools/call', { name: 'noisy', arguments: {}, _meta: { progressToken: 'p' } })
    expect(noisy.headers.get('content-type')).toBe('text/event-stream')
    expect(noisy.before.map(({ method }) => method)).toEqual(['notifications/progress', 'notifications/message'])
    expect(text(noisy.message)).toBe('done')
  })

  test('is only JSON for a client that accepts no stream', async () => {
    const { url } = await serve()
    const params = { name: 'noisy', arguments: {}, _meta: { progressToken: 'p' } }
    const { headers, message } = await modernRequest(url, 'tools/call', params, { accept: 'application/json' })
    expect([headers.get('content-type'), text(message)]).toEqual(['application/json', 'done'])
  })

  test('to an unknown method is 404 in the modern era', async () => {
    const { url } = await serve()
    expect((await modernRequest(url, 'no/such')).status).toBe(404)
  })

  test.each([
    { 'mcp-method': 'tools/list' },
    { 'mcp-name': 'wait' },
    { 'mcp-name': '=?base64?d2hv?=' },
    { 'mcp-protocol-version': '2025-11-25' },
  ])('to a modern call whose headers say %j instead is a refusal', async (headers) => {
    const { url } = await serve()
    const params = { name: 'whoami', arguments: {} }
    const { status, message } = await modernRequest(url, 'tools/call', params, headers)
    expect([status, message.error.code]).toEqual([400, -32020])
  })

  test('is the same for a name in base64', async () => {
    const { url } = await serve()
    const name = `=?base64?${Buffer.from('whoami').toString('base64')}?=`
    const params = { name: 'whoami', arguments: {} }
    expect((await modernRequest(url, 'tools/call', params, { 'mcp-name': name })).status).toBe(200)
  })
})

describe('leaving', () => {
  test('cancels a modern call', async () => {
    const { url, events } = await serve()
    const [begun, aborted] = [once(events, 'begun'), once(events, 'aborted')]
    const connection = await RawConnection.open(url)
    connection.send(rawRequest(url, { body: JSON.stringify(MODERN_CALL), headers: MODERN_HEADERS }))
    await begun
    connection.drop()
    await aborted
  })

  test('does not cancel a legacy call, but a notification does, and its POST ends', async () => {
    const { url, events } = await serve()
    const client = await LegacyClient.open(url)
    const [begun, aborted] = [once(events, 'begun'), once(events, 'aborted')]
    const answer = client.request('tools/call', { name: 'wait', arguments: {} }, 7)
    await begun
    await client.notify('notifications/cancelled', { requestId: 7 })
    await aborted
    expect((await answer).status).toBe(202)
    const again = once(events, 'begun')
    const connection = await RawConnection.open(url)
    const headers = { 'mcp-session-id': client.session, 'mcp-protocol-version': '2025-11-25' }
    connection.send(rawRequest(url, { body: JSON.stringify(CALL), headers }))
    await again
    connection.drop()
    await connection.closed
    // Still in flight: the id cannot be used again.
    expect((await client.request('tools/list', {}, 7)).status).toBe(400)
  })

  test('by DELETE ends the session and what is in flight', async () => {
    const { url, events } = await serve()
    const client = await LegacyClient.open(url)
    const [begun, aborted] = [once(events, 'begun'), once(events, 'aborted')]
    const answer = client.request('tools/call', { name: 'wait', arguments: {} })
    await begun
    const headers = { 'mcp-session-id': client.session }
    expect((await fetch(url, { method: 'DELETE', headers })).status).toBe(204)
    await aborted
    expect((await answer).status).toBe(404)
    expect((await client.request('tools/list')).status).toBe(404)
  })

  test('of the server ends sessions, calls, streams and the port', async () => {
    const served = await serve()
    const { url, events } = served
    const client = await LegacyClient.open(url)
    const begun = once(events, 'begun')
    const answer = client.request('tools/call', { name: 'wait', arguments: {} })
    await begun
    const stream = await fetch(url, { headers: { 'mcp-session-id': client.session, accept: 'text/event-stream' } })
    const listening = modernRequest(url, 'subscriptions/listen', { notifications: { toolsListChanged: true } })
    await modernRequest(url, 'tools/list')
    await served.close()
    expect((await answer).status).toBe(404)
    expect(await stream.text()).toBe('')
    expect((await listening).message.result.resultType).toBe('complete')
    await expect(fetch(url)).rejects.toThrow()
  })
})

describe('changes', () => {
  test('reach a legacy client on its stream, also those that came before it listened', async () => {
    const { url, server } = await serve()
    const client = await LegacyClient.open(url)
    await client.request('resources/subscribe', { uri: 'notes://all' })
    server.resourceUpdated('notes://all')
    const connection = await RawConnection.open(url)
    const headers = { 'mcp-session-id': client.session, accept: 'text/event-stream' }
    connection.send(rawRequest(url, { verb: 'GET', headers }))
    await connection.sees('notifications/resources/updated')
    server.tool('new', { description: 'new', permission: READ }, () => '')
    await connection.sees('notifications/tools/list_changed')
    connection.drop()
  })

  test('reach a modern client on the stream of its subscription, after the acknowledgement', async () => {
    const { url, server } = await serve()
    const connection = await RawConnection.open(url)
    const params = { notifications: { resourceSubscriptions: ['notes://all'] }, _meta: MODERN_ENVELOPE }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 'l', method: 'subscriptions/listen', params })
    connection.send(rawRequest(url, { body, headers: { ...MODERN_HEADERS, 'mcp-method': 'subscriptions/listen' } }))
    await connection.sees('notifications/subscriptions/acknowledged')
    server.resourceUpdated('notes://all')
    await connection.sees('notifications/resources/updated')
    connection.drop()
  })
})

describe('sessions', () => {
  test('that are idle make room, and those in use do not', async () => {
    const { url, events } = await serve({ maxSessionsPerUser: 2 })
    const [first, second] = [await LegacyClient.open(url), await LegacyClient.open(url)]
    const other = await LegacyClient.open(url, { authorization: 'bea' })
    const begun = once(events, 'begun')
    const busy = first.request('tools/call', { name: 'wait', arguments: {} })
    await begun
    const third = await LegacyClient.open(url)
    expect((await second.request('tools/list')).status).toBe(404)
    const again = once(events, 'begun')
    const busyToo = third.request('tools/call', { name: 'wait', arguments: {} })
    await again
    await expect(LegacyClient.open(url)).rejects.toThrow(/503/)
    expect((await other.request('tools/list')).status).toBe(200)
    for (const { session } of [first, third])
      await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session } })
    await Promise.all([busy, busyToo])
  })

  test('end when they were idle for too long', async () => {
    const { url } = await serve({ sessionIdleMs: 0 })
    const { session } = await LegacyClient.open(url)
    await LegacyClient.open(url)
    expect((await new LegacyClient(url, session, {}).request('tools/list')).status).toBe(404)
  })

  test('are not part of the modern era', async () => {
    const { url } = await serve()
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const answer = await fetch(url, {
        method,
        headers: { 'mcp-protocol-version': '2026-07-28', 'mcp-session-id': 'x' },
      })
      expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST, GET, DELETE'])
    }
  })
})

describe('what is refused', () => {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  test.each([
    ['a Host that is not ours', 403, { headers: { host: 'evil.example' } }],
    ['no Host', 403, { headers: { host: undefined } }],
    ['two Hosts', 403, { lines: ['Host: evil.example'] }],
    ['a target with an authority', 403, { target: 'http://evil.example/mcp' }],
    ['the page of another origin', 403, { headers: { origin: 'http://evil.example' } }],
    ['a page without an origin', 403, { headers: { origin: 'null' } }],
    ['two tokens', 400, { lines: ['Authorization: a', 'Authorization: b'] }],
    ['another path', 404, { target: '/mcp/x' }],
    ['another kind of body', 415, { headers: { 'content-type': 'text/plain' } }],
    ['a client that takes neither answer', 406, { headers: { accept: 'text/html' } }],
    ['a body over the limit', 413, { headers: { 'content-length': '5000000' } }],
    ['a request outside of a session', 400, {}],
    ['a version that nobody knows', 400, { headers: { 'mcp-protocol-version': '1999-01-01' } }],
    ['a session that nobody opened', 404, { headers: { 'mcp-session-id': 'x' } }],
  ])('%s', async (_what, status, request) => {
    const { url } = await serve()
    expect((await say(url, rawRequest(url, { body, ...request }))).status).toBe(status)
  })

  test.each([
    ['no JSON', Buffer.from('{'), -32700],
    ['no UTF-8', Buffer.from([0x22, 0xff, 0x22]), -32700],
    ['a batch', Buffer.from('[]'), -32600],
    ['no message', Buffer.from('{"jsonrpc":"2.0"}'), -32600],
  ])('%s', async (_what, bytes, code) => {
    const { url } = await serve()
    const { status, message } = await post(url, bytes)
    expect([status, message.error.code]).toEqual([400, code])
  })

  test('a body that grows over the limit without having announced it', async () => {
    const { url } = await serve({ maxBodyBytes: 100 })
    const chunk = 'x'.repeat(200)
    const chunked = `${chunk.length.toString(16)}\r\n${chunk}\r\n0\r\n\r\n`
    const headers = { 'transfer-encoding': 'chunked', 'content-length': undefined }
    expect((await say(url, `${rawRequest(url, { headers })}${chunked}`)).status).toBe(413)
  })

  test('nothing that a configured proxy and page send', async () => {
    const { url } = await serve({ allowedHosts: ['mcp.example'], allowedOrigins: ['https://app.example'] })
    const headers = { host: 'mcp.example', origin: 'https://app.example' }
    expect((await say(url, rawRequest(url, { body, headers }))).status).toBe(400)
  })
})

test('a server without authentication does not open a port', async () => {
  const server = createMcpServer('closed', { version: '1' })
  await expect(serveHttp(server, { port: 0 })).rejects.toThrow(/neither "auth" nor "dev"/)
})

test('an address in use is reported', async () => {
  const { url, server } = await serve()
  await expect(serveHttp(server, { port: Number(new URL(url).port) })).rejects.toThrow(/EADDRINUSE/)
})

test('a stream ends with the token that opened it', async () => {
  const { url, server } = await serve()
  server.authenticate = async () => ({
    identity: { userId: 'ann', sessionId: 's' },
    expiresAt: Date.now(),
  })
  const { session } = await LegacyClient.open(url)
  const stream = await fetch(url, { headers: { 'mcp-session-id': session, accept: 'text/event-stream' } })
  expect(await stream.text()).toBe('')
  const listened = await modernRequest(url, 'subscriptions/listen', { notifications: {} })
  expect(listened.message.method).toBe('notifications/subscriptions/acknowledged')
})

test('a client that listens again replaces its old stream', async () => {
  const { url, server } = await serve()
  const { session } = await LegacyClient.open(url)
  const headers = { 'mcp-session-id': session, accept: 'text/event-stream' }
  const first = await fetch(url, { headers })
  const second = await RawConnection.open(url)
  second.send(rawRequest(url, { verb: 'GET', headers }))
  expect(await first.text()).toBe('')
  server.tool('new', { description: 'new', permission: READ }, () => '')
  await second.sees('notifications/tools/list_changed')
  second.drop()
})

test('a client that does not read gets its answer late and fewer notifications, and uses no memory of ours', async () => {
  const { url, server } = await serve()
  server.tool('flood', { description: 'Tells much', permission: READ }, async (_args, context) => {
    for (let at = 0; at < 300; at++) context.log('error', 'x'.repeat(100_000))
    return 'done'
  })
  const connection = await RawConnection.open(url)
  connection.socket.pause()
  const _meta = { ...MODERN_ENVELOPE, 'io.modelcontextprotocol/logLevel': 'debug' }
  const body = JSON.stringify({ ...CALL, params: { name: 'flood', arguments: {}, _meta } })
  connection.send(rawRequest(url, { body, headers: { ...MODERN_HEADERS, 'mcp-name': 'flood' } }))
  await modernRequest(url, 'tools/list')
  connection.socket.resume()
  await connection.sees('"done"')
  expect(connection.received.length).toBeLessThan(10_000_000)
  connection.drop()
})

test('a body that is nested without end is refused before it is parsed', async () => {
  const { url } = await serve()
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'['.repeat(3_000_000)}`,
  })
  expect(response.status).toBe(400)
  expect(await response.text()).toContain('nested deeper than 1000 levels')
})
