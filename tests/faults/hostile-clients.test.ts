import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { LegacyClient, modernRequest, post } from '../harness/mcp-client.ts'
import { RawConnection, rawRequest, say } from '../harness/raw-http.ts'
import { REPOSITORY, type RunningGateway, runGateway } from '../harness/run-gateway.ts'
import { promise } from '../promises.ts'

const MEGABYTE = 1024 ** 2
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'

let gateway: RunningGateway
let client: LegacyClient

beforeAll(async () => {
  const server = { command: 'node', args: [join(REPOSITORY, 'tests/fixtures/hostile-server.mjs')] }
  gateway = await runGateway({ config: { mcp_servers: { hostile: server } } })
  client = await LegacyClient.open(gateway.mcp)
})

afterAll(() => gateway.stop())

afterEach(async () => {
  expect(await client.call('hostile_echo', { well: true })).toMatchObject({ content: [{ text: '{"well":true}' }] })
  expect(gateway.stderr(), 'a stranger’s mistake is no incident').not.toContain('incident')
})

const errorOf = (answer: { readonly body: string }) => JSON.parse(answer.body).error
const discover = (id: number): string =>
  JSON.stringify({
    jsonrpc: '2.0',
    id,
    method: 'server/discover',
    params: {
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    },
  })
const MODERN = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'server/discover' }

describe(`${promise('GW-21')} malformed requests`, () => {
  it.each(['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'])(
    'answers %s on /mcp with 405 and the allowed methods, without CORS headers',
    async (verb) => {
      // The parser knows no end of a body that a HEAD answer does not have.
      const connection = await RawConnection.open(gateway.url)
      connection.send(rawRequest(gateway.url, { verb, headers: { connection: 'close' } }))
      await connection.closed
      expect(connection.received).toMatch(/^HTTP\/1\.1 405 /)
      expect(connection.received).toMatch(/^allow: POST, GET, DELETE\r$/im)
      expect(connection.received).not.toMatch(/^access-control/im)
    },
  )

  it('answers CONNECT with 405, since it is not a proxy', async () => {
    const host = new URL(gateway.url).host
    expect((await say(gateway.url, `CONNECT ${host} HTTP/1.1\r\nhost: ${host}\r\n\r\n`)).status).toBe(405)
  })

  it.each([
    undefined,
    '',
    'text/plain',
    'application/jsonx',
    'application/json-rpc',
    'multipart/form-data; boundary=x',
  ])('refuses the content type %s with 415', async (type) => {
    const answer = await say(gateway.url, rawRequest(gateway.url, { body: PING, headers: { 'content-type': type } }))
    expect(answer.status).toBe(415)
    expect(errorOf(answer)).toMatchObject({ data: { code: 'MEDIA_REFUSED' } })
  })

  it('accepts a content type with parameters, in any case', async () => {
    const type = 'Application/JSON; charset=utf-8'
    const headers = { 'content-type': type, ...MODERN }
    expect((await say(gateway.url, rawRequest(gateway.url, { body: discover(1), headers }))).status).toBe(200)
  })

  it('refuses a client that accepts neither form of an answer with 406', async () => {
    const answer = await say(gateway.url, rawRequest(gateway.url, { body: PING, headers: { accept: 'text/html' } }))
    expect(answer.status).toBe(406)
  })

  it('refuses to open a stream for a client that does not accept one', async () => {
    const headers = { accept: 'application/json' }
    const answer = await modernRequest(gateway.mcp, 'subscriptions/listen', { notifications: {} }, headers)
    expect(answer).toMatchObject({ status: 406, message: { error: { data: { code: 'ACCEPT_REFUSED' } } } })
  })

  it('serves a target in absolute form if it names the same authority', async () => {
    const target = `${gateway.url}/mcp`
    const answer = await say(gateway.url, rawRequest(gateway.url, { target, body: discover(1), headers: MODERN }))
    expect(answer.status).toBe(200)
  })

  it.each([
    'http://evil.example/mcp',
    'https://127.0.0.1/mcp',
    'http://127.0.0.1/mcp',
    'evil.example:80',
    'ftp://x/mcp',
  ])('refuses the target %s, which names another authority', async (target) => {
    const answer = await say(gateway.url, rawRequest(gateway.url, { target, body: discover(1), headers: MODERN }))
    expect([400, 403]).toContain(answer.status)
  })

  it.each([
    '//127.0.0.1/mcp',
    '//evil.example/mcp',
    '/mcp/',
    '/mcp//',
    '/mcp%2f',
    '/%6dcp',
    '/MCP',
    '/mcp;a=b',
    '/mcp/..',
    '/mcp/../api/status',
    '/mcp/%2e%2e/api/status',
    '/api/%2e%2e/mcp',
    '/./mcp',
    '/mcp/claude-code',
    '/mcp/claude-code.reviewer.extra',
    '/mcp/claude-code.%00',
    '/mcp\\api',
    `/mcp/${'a'.repeat(5_000)}.b`,
  ])('does not treat the path %s as another one', async (target) => {
    const answer = await say(gateway.url, rawRequest(gateway.url, { target, body: discover(1), headers: MODERN }))
    expect([401, 404]).toContain(answer.status)
    expect(answer.body).not.toContain('supportedVersions')
  })

  it('answers pipelined requests in their order', async () => {
    const connection = await RawConnection.open(gateway.url)
    const slow = client.request('tools/call', { name: 'hostile_sleep', arguments: { ms: 50 } })
    connection.send([1, 2, 3].map((id) => rawRequest(gateway.url, { body: discover(id), headers: MODERN })).join(''))
    for (const id of [1, 2, 3]) expect(JSON.parse((await connection.answer()).body).id).toBe(id)
    connection.drop()
    expect((await slow).status).toBe(200)
  })

  it('speaks HTTP/1.0, and still requires a Host', async () => {
    const body = discover(1)
    const request = { version: '1.0', body, headers: MODERN }
    expect((await say(gateway.url, rawRequest(gateway.url, request))).status).toBe(200)
    const without = { ...request, headers: { ...MODERN, host: undefined } }
    expect((await say(gateway.url, rawRequest(gateway.url, without))).status).toBe(403)
  })

  it('answers `Expect: 100-continue`, and refuses other expectations', async () => {
    const connection = await RawConnection.open(gateway.url)
    const body = discover(1)
    const text = rawRequest(gateway.url, { body, headers: { ...MODERN, expect: '100-continue' } })
    connection.send(text.slice(0, -body.length))
    expect((await connection.answer()).status).toBe(100)
    connection.send(body)
    expect((await connection.answer()).status).toBe(200)
    connection.drop()
    expect((await say(gateway.url, rawRequest(gateway.url, { headers: { expect: 'a miracle' } }))).status).toBe(417)
  })

  it('serves a client that offers to speak another protocol as if it had not', async () => {
    const lines = ['connection: Upgrade, HTTP2-Settings', 'upgrade: h2c', 'http2-settings: AAMAAABkAARAAAAAAAIAAAAA']
    const answer = await say(gateway.url, rawRequest(gateway.url, { body: discover(1), headers: MODERN, lines }))
    expect(answer.status).toBe(200)
  })
})

describe(`${promise('GW-21')} malformed bodies`, () => {
  it('refuses a body that is announced too large before it comes', async () => {
    const headers = { 'content-length': String(8 * MEGABYTE + 1) }
    const answer = await say(gateway.url, rawRequest(gateway.url, { headers }))
    expect(answer.status).toBe(413)
    expect(errorOf(answer).message).toContain('gateway.max_body')
  })

  it('lets a client that sends too large a body to its end read why it was refused', async () => {
    const answer = await post(gateway.mcp, ' '.repeat(20 * MEGABYTE))
    expect(answer).toMatchObject({ status: 413, message: { error: { data: { code: 'BODY_TOO_LARGE' } } } })
  })

  it('refuses a body that grows too large without having been announced', async () => {
    const connection = await RawConnection.open(gateway.url)
    const headers = { 'content-length': undefined, 'transfer-encoding': 'chunked' }
    connection.send(rawRequest(gateway.url, { headers }))
    const chunk = Buffer.from(`100000\r\n${' '.repeat(MEGABYTE)}\r\n`)
    for (let sent = 0; sent < 9; sent++) connection.send(chunk)
    expect((await connection.answer()).status).toBe(413)
    connection.drop()
  })

  it('ends the connection of a client that goes on sending what was refused', async () => {
    const connection = await RawConnection.open(gateway.url)
    connection.send(rawRequest(gateway.url, { headers: { 'content-length': String(1024 ** 4) } }))
    expect((await connection.answer()).status).toBe(413)
    const more = Buffer.alloc(65_536, 0x20)
    const feed = (): boolean => !connection.isClosed && connection.socket.write(more)
    connection.socket.on('drain', feed)
    while (feed());
    await connection.closed
  })

  it.each(['-1', '+5', '5 5', '0x5', '99999999999999999999999'])('refuses the content length %s', async (length) => {
    const request = rawRequest(gateway.url, { headers: { 'content-length': length }, body: PING })
    expect((await say(gateway.url, request)).status).toBe(400)
  })

  it('reads a body that comes byte by byte', async () => {
    const connection = await RawConnection.open(gateway.url)
    const text = rawRequest(gateway.url, { body: discover(7), headers: MODERN })
    for (const byte of text) {
      connection.send(byte)
      await new Promise(setImmediate)
    }
    expect(JSON.parse((await connection.answer()).body).id).toBe(7)
    connection.drop()
  })

  it.each(['ends', 'breaks off'])('survives a client whose connection %s within the body', async (how) => {
    const connection = await RawConnection.open(gateway.url)
    connection.send(rawRequest(gateway.url, { headers: { 'content-length': '1000', expect: '100-continue' } }))
    // The answer shows that the head has been read, so that the end comes within the body.
    expect((await connection.answer()).status).toBe(100)
    connection.send(PING)
    if (how === 'ends') connection.socket.end()
    else connection.socket.resetAndDestroy()
    await connection.closed
  })
})

describe(`${promise('GW-21')} what is not HTTP`, () => {
  const nonsense: readonly (readonly [string, string])[] = [
    ['a TLS greeting', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['a line of text', 'hello\r\n\r\n'],
    ['NULs', '\0'.repeat(100)],
    ['a version of the future', 'GET / HTTP/9.9\r\nhost: x\r\n\r\n'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['an unknown verb', 'STEAL /mcp HTTP/1.1\r\nhost: x\r\n\r\n'],
    ['a blank before the colon', 'GET /healthz HTTP/1.1\r\nhost : x\r\n\r\n'],
    ['a NUL in a header', 'GET /healthz HTTP/1.1\r\nhost: x\0y\r\n\r\n'],
    ['a bare CR in a header', 'GET /healthz HTTP/1.1\r\nhost: x\ry: z\r\n\r\n'],
    ['a header without a name', 'GET /healthz HTTP/1.1\r\n: x\r\n\r\n'],
    ['a blank in the target', 'GET /health z HTTP/1.1\r\nhost: x\r\n\r\n'],
  ]

  it.each(nonsense)('refuses %s with 400 and hangs up', async (_what, text) => {
    const connection = await RawConnection.open(gateway.url)
    connection.send(text)
    await connection.closed
    expect(connection.received).toMatch(/^HTTP\/1\.1 400 /)
  })

  it.each([
    ['one huge header', [`x: ${'a'.repeat(100_000)}`]],
    ['many headers', Array.from({ length: 5_000 }, (_, index) => `x-${index}: ${index}`)],
  ])('refuses %s with 431', async (_what, lines) => {
    expect((await say(gateway.url, rawRequest(gateway.url, { verb: 'GET', lines }))).status).toBe(431)
  })

  it('does not interrupt an answer that is being sent', async () => {
    const connection = await RawConnection.open(gateway.url)
    const listen = discover(1).replace('server/discover', 'subscriptions/listen')
    const headers = { ...MODERN, 'mcp-method': 'subscriptions/listen' }
    connection.send(rawRequest(gateway.url, { body: listen, headers }))
    await connection.sees('acknowledged')
    connection.send('nonsense\r\n\r\n')
    await connection.closed
    expect(connection.received.match(/HTTP\/1\.1/g)).toHaveLength(1)
  })

  const SMUGGLED = 'GET /healthz HTTP/1.1\r\nhost: %\r\n\r\n'
  it.each([
    ['a length and chunks', ['content-length: 4', 'transfer-encoding: chunked']],
    ['two lengths', ['content-length: 0', 'content-length: 40']],
    ['two lengths in one', ['content-length: 0, 40']],
    ['chunks that are not last', ['transfer-encoding: chunked, identity']],
    ['an encoding with a vertical tab', ['transfer-encoding: \x0bchunked']],
    ['an encoding that begins on the next line', ['transfer-encoding:', ' chunked', 'content-length: 0']],
    ['an unknown encoding', ['transfer-encoding: xchunked']],
  ])('lets no second request hide behind %s', async (_what, lines) => {
    const hidden = SMUGGLED.replace('%', new URL(gateway.url).host)
    const connection = await RawConnection.open(gateway.url)
    connection.send(
      rawRequest(gateway.url, { headers: { 'content-length': undefined }, lines, body: `0\r\n\r\n${hidden}` }),
    )
    await connection.closed
    expect(connection.received).toMatch(/^HTTP\/1\.1 400 /)
    expect(connection.received).not.toContain('200 OK')
  })

  it.each(['1g\r\n', 'ffffffffffffffffff\r\n', '5\nhello\r\n', '-1\r\n', '5;\0\r\n'])(
    'refuses the chunk %j',
    async (chunk) => {
      const headers = { 'content-length': undefined, 'transfer-encoding': 'chunked' }
      expect((await say(gateway.url, rawRequest(gateway.url, { headers, body: chunk }))).status).toBe(400)
    },
  )
})

describe(`${promise('GW-21')} programs of the same user that misuse its socket`, () => {
  const upgrade = (lines: readonly string[]): string =>
    ['GET / HTTP/1.1', 'host: sallyport', 'connection: upgrade', ...lines, '', ''].join('\r\n')

  it.each([
    ['a home that cannot be decoded', ['upgrade: sallyport-lines', 'x-sallyport-home: %']],
    ['another home', ['upgrade: sallyport-lines', 'x-sallyport-home: /elsewhere']],
    ['another protocol', ['upgrade: websocket']],
    ['no wish for a port', ['upgrade: sallyport-port']],
    ['a wish that cannot be decoded', ['upgrade: sallyport-port', 'x-sallyport-port: %']],
    ['a wish that is no JSON', ['upgrade: sallyport-port', 'x-sallyport-port: hello']],
    ['a port that is none', ['upgrade: sallyport-port', 'x-sallyport-port: {"host":"127.0.0.1","port":1e9}']],
    ['a host that is none', ['upgrade: sallyport-port', 'x-sallyport-port: {"host":7,"port":0}']],
    [
      'a host for everybody',
      ['upgrade: sallyport-port', 'x-sallyport-port: {"host":"0.0.0.0","port":0,"noAuth":true}'],
    ],
  ])('refuses %s, and hangs up', async (_what, lines) => {
    const socket = connect(join(gateway.state, 'gateway.sock'))
    socket.write(upgrade(lines))
    expect(await text(socket)).toMatch(/"error":\{"code":"[A-Z_]+"/)
  })
})
