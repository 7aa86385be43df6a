import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient, modernRequest, post, type RpcAnswer } from '../harness/mcp-client.ts'
import { eventually } from '../harness/processes.ts'
import { RawConnection, rawRequest } from '../harness/raw-http.ts'
import { REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { openWindow, type StdioClient } from '../harness/stdio-client.ts'
import { promise } from '../promises.ts'

let gateway: RunningGateway
let client: LegacyClient
let window: StdioClient

beforeAll(async () => {
  const server = { command: 'node', args: [join(REPOSITORY, 'tests/fixtures/hostile-server.mjs')] }
  gateway = await runGateway({ config: { context: { cap: 'off' }, mcp_servers: { hostile: server } } })
  client = await LegacyClient.open(gateway.mcp)
  window = openWindow(gateway)
  await window.initialize()
})

afterAll(async () => {
  await window.leave()
  await gateway.stop()
})

afterEach(async () => {
  const well = { content: [{ text: '{"well":true}' }] }
  expect(await client.call('hostile_echo', { well: true })).toMatchObject(well)
  expect(await window.call('hostile_echo', { well: true })).toMatchObject(well)
  expect(gateway.stderr(), 'a stranger’s mistake is no incident').not.toContain('incident')
})

const call = (args: string, id = '1'): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"hostile_echo","arguments":${args}}}`

/** Says a line over stdio and waits for an answer to one of these ids. */
function saidOverStdio(line: string | Buffer, ids: readonly unknown[]): Promise<RpcAnswer['message']> {
  const answer = window.next(({ id, method }) => method === undefined && ids.includes(id))
  window.child.stdin?.write(line)
  window.child.stdin?.write('\n')
  return answer
}

const [PARSE, REQUEST, PARAMS] = [-32700, -32600, -32602]
const misread: readonly (readonly [what: string, message: string | Buffer, code: number])[] = [
  ['text', 'hello', PARSE],
  ['two values', '{}{}', PARSE],
  ['half a message', '{"jsonrpc":"2.0","id":1,"method":"pi', PARSE],
  ['a comma too many', '{"jsonrpc":"2.0","id":1,"method":"ping",}', PARSE],
  ['single quotes', "{'jsonrpc':'2.0','id':1,'method':'ping'}", PARSE],
  ['a comment', '{"jsonrpc":"2.0","id":1,/**/"method":"ping"}', PARSE],
  ['a byte order mark', '\ufeff{"jsonrpc":"2.0","id":1,"method":"ping"}', PARSE],
  ['bytes that are no UTF-8', Buffer.from(call('{"a":"\xc3\x28"}'), 'latin1'), PARSE],
  ['an overlong slash', Buffer.from(call('{"a":"\xc0\xaf"}'), 'latin1'), PARSE],
  ['a surrogate in UTF-8', Buffer.from(call('{"a":"\xed\xa0\x80"}'), 'latin1'), PARSE],
  ['a NUL inside a text', call('{"a":"\0"}'), PARSE],
  ['a tab inside a text', call('{"a":"\t"}'), PARSE],
  ['an unknown escape', call('{"a":"\\x41"}'), PARSE],
  ['NaN', call('{"a":NaN}'), PARSE],
  ['a number of 1,000 digits', call(`{"a":${'1'.repeat(1_000)}}`), PARSE],
  ['a leading zero', call('{"a":01}'), PARSE],
  ['100,000 nested arrays', call(`{"a":${'['.repeat(1e5)}${']'.repeat(1e5)}}`), PARSE],
  ['100,000 nested objects', call(`${'{"a":'.repeat(1e5)}1${'}'.repeat(1e5)}`), PARSE],
  ['brackets without end', '['.repeat(1e6), PARSE],
  ['two methods', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}', PARSE],
  ['two ids', '{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', PARSE],
  ['two methods, one of them escaped', '{"jsonrpc":"2.0","id":1,"method":"ping","m\\u0065thod":"tools/list"}', PARSE],
  ['a key twice in the arguments', call('{"a":1,"a":2}'), PARSE],
  ['a key twice, once escaped', call('{"a":1,"\\u0061":2}'), PARSE],
  ['__proto__ twice', call('{"__proto__":1,"__proto__":2}'), PARSE],
  ['a key twice deep inside', call('{"a":[{"b":{"c":[{"d":1,"d":1}]}}]}'), PARSE],
  ['1e400', call('{"a":1e400}'), PARSE],
  ['2^53 + 1', call('{"a":9007199254740993}'), PARSE],
  ['the id 1.5', call('{}', '1.5'), REQUEST],
  ['the id 1e400', call('{}', '1e400'), PARSE],
  ['the id null', call('{}', 'null'), REQUEST],
  ['the id true', call('{}', 'true'), REQUEST],
  ['an object as id', call('{}', '{"a":1}'), REQUEST],
  ['a list as id', call('{}', '[1]'), REQUEST],
  ['an id of 10 KB', call('{}', JSON.stringify('x'.repeat(10_000))), REQUEST],
  ['a batch', `[${call('{}')},${call('{}', '2')}]`, REQUEST],
  ['an empty batch', '[]', REQUEST],
  ['null', 'null', REQUEST],
  ['a number', '1', REQUEST],
  ['no version', '{"id":1,"method":"ping"}', REQUEST],
  ['version 1.0', '{"jsonrpc":"1.0","id":1,"method":"ping"}', REQUEST],
  ['version 2', '{"jsonrpc":2.0,"id":1,"method":"ping"}', REQUEST],
  ['a method that is not a string', '{"jsonrpc":"2.0","id":1,"method":["ping"]}', REQUEST],
  ['a method of 100 KB', `{"jsonrpc":"2.0","id":1,"method":"${'m'.repeat(1e5)}"}`, REQUEST],
  ['neither method nor result', '{"jsonrpc":"2.0","id":1}', REQUEST],
  ['a result and an error', '{"jsonrpc":"2.0","id":1,"result":{},"error":{}}', REQUEST],
  ['a result without an id', '{"jsonrpc":"2.0","result":{}}', REQUEST],
  ['a method in the prototype', '{"jsonrpc":"2.0","id":1,"__proto__":{"method":"ping"}}', REQUEST],
  ['a list of parameters', '{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', PARAMS],
  ['a _meta that is a list', '{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":[]}}', PARAMS],
]

describe(`${promise('GW-21')} malformed messages`, () => {
  it.each(misread)('refuses %s over HTTP with 400 and its own error', async (_what, message, code) => {
    const answer = await post(gateway.mcp, message as string)
    expect(answer).toMatchObject({ status: 400, message: { jsonrpc: '2.0', error: { code } } })
    expect(answer.message.error.message).toMatch(/^["A-Z].*\.$/)
    expect([1, 2, null]).toContain(answer.message.id)
  })

  it.each(misread)('refuses %s over stdio with its own error, and reads on', async (_what, message, code) => {
    expect(await saidOverStdio(message, [null, 1, 2])).toMatchObject({ jsonrpc: '2.0', error: { code } })
  })

  it('refuses an empty body', async () => {
    expect(await post(gateway.mcp, '')).toMatchObject({ status: 400, message: { error: { code: PARSE } } })
  })

  it('reads on after a line over the limit', async () => {
    expect(await saidOverStdio(' '.repeat(9_000_000), [null])).toMatchObject({
      error: { code: REQUEST, message: expect.stringContaining('larger than') },
    })
  })
})

describe(`${promise('GW-21')} messages that are unusual and still valid`, () => {
  const strange: readonly (readonly [what: string, args: string])[] = [
    ['keys that objects have anyway', '{"__proto__":{"admin":true},"constructor":{"prototype":{}},"toString":1}'],
    ['a __proto__ deep inside', '{"a":[{"__proto__":{"__proto__":null}}],"hasOwnProperty":"x"}'],
    ['an empty key', '{"":{"":""}}'],
    ['keys that are numbers', '{"0":"a","-1":"b","1e3":"c"}'],
    ['NUL and control characters', '{"a":"\\u0000\\u001f\\u007f\\u2028\\u2029"}'],
    ['lone surrogates', '{"a":"\\ud800","\\udc00":"\\udfff\\ud800"}'],
    ['numbers on the edge', '{"a":[9007199254740991,-9007199254740991,1e-400,5e-324,1.7976931348623157e308]}'],
    ['100 levels', `{"a":${'['.repeat(100)}${']'.repeat(100)}}`],
  ]

  it.each(strange)('passes %s to the server unchanged, as own keys', async (_what, args) => {
    const expected = JSON.stringify(JSON.parse(args))
    const { message } = await client.request('tools/call', { name: 'hostile_echo', arguments: JSON.parse(args) })
    expect(message.result.content[0].text).toBe(expected)
    const answer = await saidOverStdio(call(args, '"strange"'), ['strange'])
    expect(answer.result.content[0].text).toBe(expected)
  })

  it('passes 7 MB of text to the server and back', async () => {
    const text = 'é😀x'.repeat(1_000_000)
    const { content } = await client.call('hostile_echo', { text })
    expect(JSON.parse(content[0].text).text === text).toBe(true)
  })

  it.each([0, -5, -9007199254740991, '', '0', '\ud800', '__proto__', 'é', 'x'.repeat(256)])(
    'answers with the id %j unchanged',
    async (id) => {
      expect((await client.request('ping', {}, id)).message).toEqual({ jsonrpc: '2.0', id, result: {} })
      const ping = JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' })
      expect(await saidOverStdio(ping, [id])).toEqual({ jsonrpc: '2.0', id, result: {} })
    },
  )

  it.each(['__proto__', 'constructor', 'toString', '', 'x'.repeat(1_000_000), 'hostile_echo\0', 'HOSTILE_ECHO'])(
    'reports an unknown tool, prompt or resource',
    async (name) => {
      for (const [method, params] of [
        ['tools/call', { name }],
        ['prompts/get', { name }],
        ['resources/read', { uri: name }],
      ] as const) {
        const { message } = await client.request(method, params)
        expect(message.error.code, method).toBe(method === 'resources/read' ? -32002 : PARAMS)
        expect(message.error.message.length).toBeLessThan(2_000)
      }
    },
  )

  it.each([{}, { name: 1 }, { name: null }, { name: {} }, { name: 'hostile_echo', arguments: [] }])(
    'refuses the parameters %j of a call',
    async (params) => {
      expect((await client.request('tools/call', params)).message.error.code).toBe(PARAMS)
    },
  )
})

describe(`${promise('GW-21')} sessions of the legacy era`, () => {
  const header = { 'mcp-protocol-version': '2025-11-25' }
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }

  it('requires initialize first, and says so', async () => {
    const answer = await post(gateway.mcp, ping, header)
    expect(answer).toMatchObject({
      status: 400,
      message: { error: { message: expect.stringContaining('initialize') } },
    })
  })

  it.each(['unknown', '', '../..', '00000000-0000-0000-0000-000000000000'])(
    'refuses the unknown session %j',
    async (id) => {
      expect((await post(gateway.mcp, ping, { ...header, 'mcp-session-id': id })).status).toBe(404)
    },
  )

  it('ends a session with DELETE: it can no longer be used, and not be ended again', async () => {
    const { session } = await LegacyClient.open(gateway.mcp)
    const headers = { 'mcp-session-id': session }
    expect((await fetch(gateway.mcp, { method: 'DELETE', headers })).status).toBe(204)
    expect((await post(gateway.mcp, ping, headers)).status).toBe(404)
    expect((await fetch(gateway.mcp, { method: 'DELETE', headers })).status).toBe(404)
    expect((await fetch(gateway.mcp, { headers })).status).toBe(404)
  })

  it('cancels the calls of a session that is ended', async () => {
    const ended = await LegacyClient.open(gateway.mcp)
    const hanging = ended.request('tools/call', { name: 'hostile_hang' })
    await eventually(
      () => gateway.records(),
      (records) => records.some((record) => record.tool_name === 'mcp__hostile__hang'),
    )
    await fetch(gateway.mcp, { method: 'DELETE', headers: { 'mcp-session-id': ended.session } })
    expect(JSON.stringify((await hanging).message)).toContain('CALL_CANCELLED')
  })

  it('refuses the id of a request in flight', async () => {
    const hanging = client.request('tools/call', { name: 'hostile_sleep', arguments: { ms: 300 } }, 'same')
    const second = await eventually(
      () => client.request('ping', {}, 'same'),
      ({ status }) => status !== 200,
    )
    expect(second).toMatchObject({ status: 400, message: { id: null, error: { code: REQUEST } } })
    expect((await hanging).message).toMatchObject({ id: 'same', result: {} })
  })

  it('sends notifications to the newest GET stream, and ends the one before', async () => {
    const { session } = await LegacyClient.open(gateway.mcp)
    const open = () => fetch(gateway.mcp, { headers: { 'mcp-session-id': session, accept: 'text/event-stream' } })
    const first = await open()
    const second = await open()
    expect([first.status, second.status]).toEqual([200, 200])
    // Nothing but the event from which it could be resumed.
    expect(await first.text()).toMatch(/^id: \S+\nretry: \d+\ndata:\s*$/)
    await client.call('hostile_list-changed', { count: 1 })
    await second.body?.cancel()
  })

  it.each(['2026-01-01', '2099-12-31', 'latest', '2025-11-25, 2025-11-25'])(
    'refuses the version header %s',
    async (version) => {
      const headers = { 'mcp-session-id': client.session, 'mcp-protocol-version': version }
      expect((await post(gateway.mcp, ping, headers)).status).toBe(400)
    },
  )

  it.each([undefined, null, 7, '2026-07-28', '1999-01-01', 'x'.repeat(100_000)])(
    'offers its newest version to a client that opens with %j',
    async (protocolVersion) => {
      const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'x', version: '1' } }
      const answer = await post(gateway.mcp, { jsonrpc: '2.0', id: 1, method: 'initialize', params })
      expect(answer.message.result.protocolVersion).toBe('2025-11-25')
    },
  )

  it('accepts and ignores unknown notifications and answers', async () => {
    for (const method of ['notifications/unknown', 'notifications/initialized', 'tools/call', '__proto__']) {
      expect((await client.notify(method)).status, method).toBe(202)
    }
    for (const requestId of ['unknown', 12345, null, {}, undefined]) {
      expect((await client.notify('notifications/cancelled', { requestId })).status).toBe(202)
    }
    const response = { jsonrpc: '2.0', id: 'nobody asked', result: {} }
    expect((await post(gateway.mcp, response, { 'mcp-session-id': client.session })).status).toBe(202)
    const error = { ...response, error: { code: 1, message: 'x' }, result: undefined }
    for (const line of [response, error]) window.child.stdin?.write(`${JSON.stringify(line)}\n`)
  })

  it('says that a method is unknown, within the answer', async () => {
    for (const method of ['tools/cal', 'server/discover', 'subscriptions/listen', '', 'constructor']) {
      expect(await client.request(method), method).toMatchObject({ status: 200, message: { error: { code: -32601 } } })
    }
  })
})

describe(`${promise('GW-21')} requests of the modern era`, () => {
  const meta = 'io.modelcontextprotocol'
  const whole = { [`${meta}/protocolVersion`]: '2026-07-28', [`${meta}/clientCapabilities`]: {} }
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }
  const list = (_meta: object) => ({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } })

  it('accept every notification, also without an envelope: the Go SDK cancels like that', async () => {
    const version = { 'mcp-protocol-version': '2026-07-28' }
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 3 } }
    for (const notification of [
      cancelled,
      { ...cancelled, params: undefined },
      { ...cancelled, params: null },
      { ...cancelled, params: { _meta: null } },
      { ...cancelled, params: { _meta: { [`${meta}/protocolVersion`]: '1999-01-01' } } },
      { ...cancelled, method: 'notifications/unknown' },
    ]) {
      expect(await post(gateway.mcp, notification, version), JSON.stringify(notification)).toMatchObject({
        status: 202,
        message: {},
      })
      expect((await post(gateway.mcp, notification, { ...version, 'mcp-method': 'other' })).status).toBe(202)
    }
  })

  it.each([
    ['no version', { [`${meta}/clientCapabilities`]: {} }],
    ['no capabilities', { [`${meta}/protocolVersion`]: '2026-07-28' }],
    ['capabilities that are no object', { ...whole, [`${meta}/clientCapabilities`]: [] }],
    ['a version that is not a string', { ...whole, [`${meta}/protocolVersion`]: 20260728 }],
  ])('refuses %s in _meta with 400 and -32602', async (_what, _meta) => {
    const answer = await post(gateway.mcp, list(_meta), headers)
    expect(answer).toMatchObject({ status: 400, message: { id: 1, error: { code: PARAMS } } })
  })

  it.each(['2099-01-01', '2025-11-25', ''])('refuses the version %j and names the supported ones', async (version) => {
    const _meta = { ...whole, [`${meta}/protocolVersion`]: version }
    const refusal = { error: { code: -32022, data: { supported: expect.arrayContaining(['2026-07-28']) } } }
    const answer = await post(gateway.mcp, list(_meta), { ...headers, 'mcp-protocol-version': version })
    expect(answer).toMatchObject({ status: 400, message: refusal })
    expect(await window.request('tools/list', { _meta })).toMatchObject(refusal)
  })

  const name = 'hostile_echo'
  const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`
  it.each([
    ['another version', { 'mcp-protocol-version': '2025-11-25' }],
    ['another method', { 'mcp-method': 'tools/list' }],
    ['another name', { 'mcp-name': 'hostile_hang' }],
    ['another name, encoded', { 'mcp-name': base64('hostile_hang') }],
    ['an encoding that is broken', { 'mcp-name': '=?base64?%%%?=' }],
    ['a name in other letters', { 'mcp-name': 'HOSTILE_ECHO' }],
    ['two names', { 'mcp-name': `${name}, ${name}` }],
    ['an empty method', { 'mcp-method': '' }],
  ])('refuses headers that say %s than the body', async (_what, wrong) => {
    const answer = await modernRequest(
      gateway.mcp,
      'tools/call',
      { name, arguments: {} },
      wrong as Record<string, string>,
    )
    expect(answer).toMatchObject({ status: 400, message: { error: { code: -32020 } } })
  })

  it.each(['mcp-method', 'mcp-name'])('refuses a call without the header %s', async (missing) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, _meta: whole } })
    const all: Record<string, string | undefined> = { ...headers, 'mcp-method': 'tools/call', 'mcp-name': name }
    const connection = await RawConnection.open(gateway.url)
    connection.send(rawRequest(gateway.url, { body, headers: { ...all, [missing]: undefined } }))
    const answer = await connection.answer()
    connection.drop()
    expect([answer.status, JSON.parse(answer.body).error.code]).toEqual([400, -32020])
  })

  it('accepts an encoded name', async () => {
    const answer = await modernRequest(gateway.mcp, 'tools/call', { name }, { 'mcp-name': base64(name) })
    expect(answer.message.result.content[0].text).toBe('{}')
  })

  it.each(['tools/cal', 'ping', 'initialize', 'logging/setLevel', 'resources/subscribe', 'constructor'])(
    'answers the unknown method %s with 404 and -32601',
    async (method) => {
      const answer = await modernRequest(gateway.mcp, method)
      expect(answer).toMatchObject({ status: 404, message: { error: { code: -32601 } } })
    },
  )

  it.each(['GET', 'DELETE'])('refuses %s, whatever session the header names', async (method) => {
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-session-id': client.session }
    expect((await fetch(gateway.mcp, { method, headers })).status).toBe(405)
  })

  it('infers nothing from a session or a connection', async () => {
    const answer = await modernRequest(gateway.mcp, 'tools/list', {}, { 'mcp-session-id': 'unknown' })
    expect(answer.status).toBe(200)
  })

  it('cancels a call whose connection closed, and no other', async () => {
    const connection = await RawConnection.open(gateway.url)
    const body = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'hostile_hang', _meta: whole },
    })
    connection.send(
      rawRequest(gateway.url, {
        body,
        headers: { ...headers, 'mcp-method': 'tools/call', 'mcp-name': 'hostile_hang' },
      }),
    )
    const other = client.request('tools/call', { name: 'hostile_sleep', arguments: { ms: 500 } })
    const hangs = (type: string) =>
      gateway.records().filter((record) => record.type === type && record.tool_name === 'mcp__hostile__hang')
    const before = hangs('TOOL_CALL_FAILED').length
    await eventually(
      () => hangs('TOOL_CALL_STARTED').length,
      (count) => count > before,
    )
    connection.drop()
    await eventually(
      () => hangs('TOOL_CALL_FAILED').length,
      (count) => count > before,
    )
    expect((await other).message.result.content[0].text).toBe('done')
  })
})
