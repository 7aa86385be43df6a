import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { readBody } from '@sallyport/kit/http-intake'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { parseFastRequest } from './fast-request-parser.ts'

const BODY = '{"jsonrpc":"2.0"}'
const HEAD = ['Host: 127.0.0.1:7319', 'Content-Type: application/json', 'Mcp-Method: tools/call']

const written = (lines: readonly string[], body = BODY, first = 'POST /mcp HTTP/1.1'): Buffer =>
  Buffer.from(`${[first, ...lines].join('\r\n')}\r\n\r\n${body}`, 'latin1')

const sized = (body = BODY): string => `Content-Length: ${Buffer.byteLength(body, 'latin1')}`

describe(`a request that arrived in one piece (${promise('GW-23')})`, () => {
  it('is parsed with the same headers as in node:http', () => {
    const request = parseFastRequest(written([...HEAD, sized(), 'X-Blank:', 'X-Padded: \t a  b \t']))
    expect(request).toMatchObject({ method: 'POST', url: '/mcp' })
    expect({ ...request?.headers }).toEqual({
      host: '127.0.0.1:7319',
      'content-type': 'application/json',
      'mcp-method': 'tools/call',
      'content-length': String(BODY.length),
      'x-blank': '',
      'x-padded': 'a  b',
    })
    expect(request?.rawHeaders.slice(0, 2)).toEqual(['Host', '127.0.0.1:7319'])
    expect(request?.body.toString()).toBe(BODY)
  })

  it('may name a profile in its path, and have connection: keep-alive', () => {
    const kept = written([...HEAD, sized(), 'connection: Keep-Alive'], BODY, 'POST /mcp/claude-code.main HTTP/1.1')
    expect(parseFastRequest(kept)?.url).toBe('/mcp/claude-code.main')
  })

  it('reuses the previous head if it is identical', () => {
    const first = parseFastRequest(written([...HEAD, sized()]))
    const same = parseFastRequest(written([...HEAD, sized()], BODY.toUpperCase()), first?.head)
    expect(same?.head).toBe(first?.head)
    expect(same?.body.toString()).toBe(BODY.toUpperCase())
    const other = parseFastRequest(written([...HEAD, sized(), 'X-Other: 1']), first?.head)
    expect(other?.headers['x-other']).toBe('1')
    expect(parseFastRequest(written([...HEAD, sized()], `${BODY} `), first?.head)).toBeUndefined()
    expect(parseFastRequest(written([...HEAD, sized()], ''), first?.head)).toBeUndefined()
  })

  it.each([
    ['another verb', written([...HEAD, sized()], BODY, 'GET /mcp HTTP/1.1')],
    ['another path', written([...HEAD, sized()], BODY, 'POST /mcpx HTTP/1.1')],
    ['a query', written([...HEAD, sized()], BODY, 'POST /mcp?a=1 HTTP/1.1')],
    ['an absolute target', written([...HEAD, sized()], BODY, 'POST http://127.0.0.1/mcp HTTP/1.1')],
    ['an older version', written([...HEAD, sized()], BODY, 'POST /mcp HTTP/1.0')],
    ['two spaces in its first line', written([...HEAD, sized()], BODY, 'POST  /mcp HTTP/1.1')],
    ['an empty line before it', Buffer.concat([Buffer.from('\r\n'), written([...HEAD, sized()])])],
    ['no length', written(HEAD)],
    ['two lengths', written([...HEAD, sized(), sized()])],
    ['a signed length', written([...HEAD, `Content-Length: +${BODY.length}`])],
    ['a list of lengths', written([...HEAD, `Content-Length: ${BODY.length}, ${BODY.length}`])],
    ['a length with a leading zero', written([...HEAD, `Content-Length: 0${BODY.length}`])],
    ['a chunked body', written([...HEAD, sized(), 'Transfer-Encoding: chunked'])],
    ['an incomplete body', written([...HEAD, 'Content-Length: 1000'])],
    ['another request after it', Buffer.concat([written([...HEAD, sized()]), written([...HEAD, sized()])])],
    ['a header twice', written([...HEAD, sized(), 'host: evil'])],
    ['a folded line', written([...HEAD, sized(), 'X-A: 1', ' 2'])],
    ['a space before a colon', written([...HEAD, sized(), 'X-A : 1'])],
    ['a header without a name', written([...HEAD, sized(), ': 1'])],
    ['a bare line feed', written([...HEAD, sized(), 'X-A: 1\nX-B: 2'])],
    ['a bare carriage return', written([...HEAD, sized(), 'X-A: 1\rX-B: 2'])],
    ['a NUL', written([...HEAD, sized(), 'X-A: 1\0'])],
    ['bytes beyond ASCII', written([...HEAD, sized(), 'X-A: \xfc'])],
    ['connection: close', written([...HEAD, sized(), 'Connection: close'])],
    ['an upgrade', written([...HEAD, sized(), 'Connection: upgrade', 'Upgrade: websocket'])],
    ['expect: 100-continue', written([...HEAD, sized(), 'Expect: 100-continue'])],
    ['too many headers', written([...HEAD, sized(), ...Array.from({ length: 100 }, (_, at) => `x-${at}: 1`)])],
    ['a head that is too long', written([...HEAD, sized(), `x: ${'a'.repeat(17_000)}`])],
    ['no bytes', Buffer.alloc(0)],
  ])('is left to node:http if it has %s', (_what, bytes) => {
    expect(parseFastRequest(bytes)).toBeUndefined()
  })
})

describe('what is parsed without node:http', () => {
  interface Seen {
    readonly url: string | undefined
    readonly method: string | undefined
    readonly rawHeaders: readonly string[]
    readonly headers: object
    readonly body: string
  }
  let server: Server
  let seen: Seen[] = []

  beforeAll(async () => {
    server = createServer({ requireHostHeader: false }, async (request: IncomingMessage, response) => {
      const body = (await readBody(request, { limit: 1e6, hint: '' })).toString('latin1')
      const { url, method, rawHeaders, headers } = request
      seen.push({ url, method, rawHeaders, headers: { ...headers }, body })
      response.writeHead(204).end()
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
  })
  afterAll(async () => {
    server.close()
    server.closeAllConnections()
    await once(server, 'close')
  })

  /** How node:http reads the same bytes, and whether it would keep the connection open. */
  async function byNode(bytes: Buffer): Promise<{ readonly seen: readonly Seen[]; readonly isKept: boolean }> {
    seen = []
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
    socket.write(bytes)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    const isKept = /\r\nconnection: keep-alive/i.test(answer.toString('latin1'))
    socket.destroy()
    return { seen, isKept }
  }

  const line = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.constantFrom(...HEAD, 'Accept: */*', 'X-A:', 'x-a: b', 'Connection: keep-alive', 'TE: x'),
    },
    {
      weight: 2,
      arbitrary: fc.constantFrom(
        'Connection: close',
        'Transfer-Encoding: chunked',
        'Expect: 100-continue',
        'Cookie: a=b',
        '__proto__: 1',
        'constructor: 1',
        'Trailer: x',
      ),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.string({ maxLength: 8, unit: 'binary-ascii' }), fc.string({ maxLength: 12, unit: 'binary-ascii' }))
        .map(([name, value]) => `${name}:${value}`),
    },
    {
      weight: 1,
      arbitrary: fc
        .tuple(fc.constantFrom('Content-Length: ', 'content-length:', 'Content-Length:\t'), fc.nat(30))
        .map(([name, length]) => name + length),
    },
  )
  const requests = fc
    .record({
      first: fc.oneof(
        { weight: 8, arbitrary: fc.constantFrom('POST /mcp HTTP/1.1', 'POST /mcp/a.b HTTP/1.1') },
        { weight: 1, arbitrary: fc.constantFrom('POST /mcp/ HTTP/1.1', 'POST /mcp/.. HTTP/1.1', 'post /mcp HTTP/1.1') },
      ),
      lines: fc.array(line, { maxLength: 8 }),
      body: fc.string({ maxLength: 30, unit: 'binary-ascii' }),
      at: fc.option(fc.tuple(fc.nat(200), fc.integer({ min: 0, max: 255 })), { freq: 3 }),
    })
    .map(({ first, lines, body, at }) => {
      const bytes = written([...lines, sized(body)], body, first)
      // Sometimes one byte is changed.
      if (at && at[0] < bytes.length) bytes[at[0]] = at[1]
      return bytes
    })

  it('is exactly what node:http reads from the same bytes', async () => {
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(requests, async (bytes) => {
        const request = parseFastRequest(bytes)
        if (request === undefined) return
        accepted++
        const { url, method, rawHeaders, headers, body } = request
        const ours = { url, method, rawHeaders, headers: { ...headers }, body: body.toString('latin1') }
        expect(await byNode(bytes)).toEqual({ seen: [ours], isKept: true })
      }),
      { numRuns: Number(process.env.WHOLE_RUNS ?? 400) },
    )
    expect(accepted).toBeGreaterThan(20)
  })
})
