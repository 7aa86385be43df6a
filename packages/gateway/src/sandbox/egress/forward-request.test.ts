import { createServer, type RequestListener, type Server } from 'node:http'
import type { Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import {
  askOnce,
  Client,
  closeAll,
  connectRequest,
  FULL,
  listen,
  NONE,
  openOrigin,
  openTestProxy,
  openTunnel,
  policy,
  type TestProxy,
} from './egress.test-kit.ts'

afterEach(closeAll)

const ANSWER = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi'

/** A server that records raw requests, and answers each. */
const openRaw = (answer = ANSWER) =>
  openOrigin((socket) => socket.on('data', (chunk) => chunk.includes('\r\n\r\n') && socket.end(answer)))

interface Site {
  readonly server: Server
  readonly host: string
  readonly proxy: TestProxy
  /** What the server was asked: method, URL, Host and body. */
  readonly asked: string[]
}

/** A web server, and a proxy that leads `site.test` to it. */
async function openSite(serve: RequestListener = (_, response) => response.end('hi')): Promise<Site> {
  const asked: string[] = []
  const server = createServer((request, response) => {
    const body: Buffer[] = []
    request.on('data', (chunk: Buffer) => body.push(chunk))
    request.on('end', () => {
      asked.push(
        `${request.method} ${request.url} ${request.headers.host} ${Buffer.concat(body).toString('latin1')}`.trim(),
      )
      serve(request, response)
    })
  })
  const port = await listen(server)
  return { server, asked, host: `site.test:${port}`, proxy: await openProxyFor(port) }
}

const openProxyFor = (port: number, limits = {}): Promise<TestProxy> =>
  openTestProxy({
    policy: policy('PROXIED', `site.test:${port}`, `127.0.0.1:${port}`),
    names: { 'site.test': ['127.0.0.1'] },
    limits,
  })

describe('a request in absolute form', () => {
  it('is sent on with its path unchanged, and without the headers of its connection', async () => {
    const { port, received } = await openRaw()
    const { socketPath, decisions } = await openProxyFor(port)
    const client = new Client(socketPath).send(
      [
        `GET http://SITE.test:${port}/a/../b?c=%2F HTTP/1.1`,
        `Host: site.test:${port}`,
        'Accept: */*',
        'Proxy-Authorization: Basic c2VjcmV0',
        'Proxy-Connection: keep-alive',
        'Connection: X-Own, content-length, keep-alive',
        'X-Own: 1',
        'Keep-Alive: timeout=5',
        'TE: trailers',
        'Cookie: a=1',
        'Cookie: b=2',
        '',
        '',
      ].join('\r\n'),
    )
    await client.receive('hi')
    expect(received().split('\r\n')).toEqual([
      'GET /a/../b?c=%2F HTTP/1.1',
      `Host: site.test:${port}`,
      'Accept: */*',
      'Cookie: a=1',
      'Cookie: b=2',
      'Connection: close',
      '',
      '',
    ])
    expect(decisions).toEqual([
      {
        host: 'site.test',
        port,
        address: '127.0.0.1',
        ok: true,
        reason: 'it is on the allow list',
        at: expect.any(Number),
      },
    ])
  })

  it('may have no path, a query alone, and the default port', async () => {
    const { host, proxy, asked } = await openSite()
    for (const url of [`http://${host}`, `http://${host}?q`])
      await new Client(proxy.socketPath).send(`GET ${url} HTTP/1.1\r\nHost: ${host}\r\n\r\n`).receive('hi')
    expect(asked).toEqual([`GET / ${host}`, `GET /?q ${host}`])
    const { socketPath, decisions } = await openTestProxy({ policy: NONE })
    await askOnce(socketPath, 'GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\n\r\n')
    expect(decisions).toMatchObject([{ host: 'a.test', port: 80, ok: false }])
  })

  it.each([
    ['Content-Length: 4\r\n\r\nbody', 'body'],
    ['Transfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n', 'body'],
    ['Transfer-Encoding: chunked\r\nTrailer: X\r\n\r\n4\r\nbody\r\n0\r\nX: 1\r\n\r\n', 'body'],
    ['Connection: content-length\r\nContent-Length: 4\r\n\r\nbody', 'body'],
    ['Expect: 100-continue\r\nContent-Length: 4\r\n\r\nbody', 'body'],
    ['\r\n', ''],
  ])('is sent on with its body: %j', async (rest, body) => {
    const { host, proxy, asked } = await openSite()
    const client = new Client(proxy.socketPath)
    await client.send(`POST http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n${rest}`).receive('hi')
    expect(asked).toEqual([`POST / ${host} ${body}`.trim()])
  })

  it('gets the whole response: status, headers in order, body', async () => {
    const { host, proxy } = await openSite((_, response) => {
      response.writeHead(207, 'As it was', [
        ['Set-Cookie', 'a'],
        ['X-B', '1'],
        ['Set-Cookie', 'b'],
        ['Keep-Alive', 'x'],
        ['Proxy-Authenticate', 'Basic'],
      ])
      response.write('one,')
      response.end('two')
    })
    const client = new Client(proxy.socketPath).send(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
    await client.receive('two\r\n0\r\n\r\n')
    expect(client.text).toMatch(/^HTTP\/1.1 207 As it was\r\nSet-Cookie: a\r\nX-B: 1\r\nSet-Cookie: b\r\nDate: /)
    expect(client.text).not.toMatch(/Proxy-Auth|timeout=5, x/)
  })

  it('of HEAD has the length and no body', async () => {
    const { host, proxy } = await openSite((_, response) => response.writeHead(200, { 'Content-Length': 5 }).end())
    const client = new Client(proxy.socketPath)
    await client.send(`HEAD http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`).closed
    expect(client.text).toMatch(/Content-Length: 5\r\n(?:.+\r\n)*\r\n$/)
  })
})

describe('of several requests on one connection', () => {
  it('each is judged by itself, also if they come at once', async () => {
    const { host, proxy, asked } = await openSite()
    const get = (target: string): string => `GET http://${target}/ HTTP/1.1\r\nHost: ${target}\r\n\r\n`
    const client = new Client(proxy.socketPath).send(get(host) + get('evil.test') + get(host))
    await client.receive('not on the allow list.\n')
    await expect
      .poll(() => client.text.match(/HTTP\/1.1 \d+/g))
      .toEqual(['HTTP/1.1 200', 'HTTP/1.1 403', 'HTTP/1.1 200'])
    expect(asked).toHaveLength(2)
    expect(proxy.decisions.map(({ host: name, ok }) => [name, ok]).sort()).toEqual([
      ['evil.test', false],
      ['site.test', true],
      ['site.test', true],
    ])
    expect(proxy.lookups).toEqual(['site.test', 'site.test'])
  })
})

describe('what could be read in two ways is refused', () => {
  it.each([
    ['a Host header of another host', 'GET http://HOST/ HTTP/1.1\r\nHost: evil.test\r\n\r\n', 403],
    ['a Host header with another port', 'GET http://HOST/ HTTP/1.1\r\nHost: site.test:1\r\n\r\n', 403],
    ['two Host headers', 'GET http://HOST/ HTTP/1.1\r\nHost: HOST\r\nHost: evil.test\r\n\r\n', 403],
    ['the same Host header twice', 'GET http://HOST/ HTTP/1.1\r\nHost: HOST\r\nHost: HOST\r\n\r\n', 403],
    ['a Host header that is not valid', 'GET http://HOST/ HTTP/1.1\r\nHost: HOST, evil.test\r\n\r\n', 403],
    ['no Host header', 'GET http://HOST/ HTTP/1.1\r\n\r\n', 400],
    [
      'both lengths of a body',
      'POST http://HOST/ HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    [
      'two lengths',
      'POST http://HOST/ HTTP/1.1\r\nHost: HOST\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde',
      400,
    ],
    [
      'an encoding in front of chunked',
      'POST http://HOST/ HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['an unknown encoding', 'POST http://HOST/ HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: x\r\n\r\n', 400],
    [
      'chunked twice',
      'POST http://HOST/ HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['a space before a colon', 'GET http://HOST/ HTTP/1.1\r\nHost : HOST\r\n\r\n', 400],
    ['a folded header', 'GET http://HOST/ HTTP/1.1\r\nHost: HOST\r\nX: 1\r\n 2\r\n\r\n', 400],
    ['a password in the target', 'GET http://user:secret@HOST/ HTTP/1.1\r\nHost: HOST\r\n\r\n', 400],
    ['another host behind an @', 'GET http://HOST@evil.test/ HTTP/1.1\r\nHost: HOST\r\n\r\n', 400],
    ['a backslash', 'GET http://HOST\\@evil.test/ HTTP/1.1\r\nHost: HOST\r\n\r\n', 400],
    ['a fragment', 'GET http://HOST/#x HTTP/1.1\r\nHost: HOST\r\n\r\n', 400],
    ['https in absolute form', 'GET https://HOST/ HTTP/1.1\r\nHost: HOST\r\n\r\n', 400],
    ['a path alone', 'GET / HTTP/1.1\r\nHost: HOST\r\n\r\n', 400],
    ['an asterisk', 'OPTIONS * HTTP/1.1\r\nHost: HOST\r\n\r\n', 400],
    ['CONNECT with a body', 'CONNECT HOST HTTP/1.1\r\nHost: HOST\r\nContent-Length: 3\r\n\r\nabc', 400],
    [
      'an upgrade with a body',
      'POST http://HOST/ HTTP/1.1\r\nHost: HOST\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 3\r\n\r\nabc',
      400,
    ],
    ['no HTTP', 'hello\r\n\r\n', 400],
  ])('%s', async (_, bytes, status) => {
    const { host, proxy, asked, server } = await openSite()
    let connections = 0
    server.on('connection', () => connections++)
    const client = new Client(proxy.socketPath).send(bytes.replaceAll('HOST', host))
    await client.receive('\r\n\r\n')
    expect(client.text).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect([asked, connections]).toEqual([[], 0])
    expect(JSON.stringify(proxy.decisions)).not.toContain('secret')
  })
})

describe('a tunnel to port 80', () => {
  const PORT_80 = { policy: policy('PROXIED', 'site.test', '127.0.0.1'), names: { 'site.test': ['127.0.0.1'] } }

  it('carries only requests to its host', async () => {
    const { socketPath, decisions } = await openTestProxy(PORT_80)
    const client = await openTunnel(socketPath, 'site.test:80')
    client.send('GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n')
    await client.receive('its Host header names another host')
    client.send('GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n')
    await client.receive('expected http://')
    await client.send('not HTTP\r\n\r\n').closed
    expect(decisions).toMatchObject([{ host: 'site.test', ok: false }])
  })

  it('allows no tunnel inside, and is cut with the policy', async () => {
    const { socketPath, proxy } = await openTestProxy(PORT_80)
    const inner = await openTunnel(socketPath, 'site.test:80')
    await inner.send('CONNECT site.test:80 HTTP/1.1\r\nHost: site.test\r\n\r\n').receive('HTTP/1.1 400')
    await expect.poll(() => proxy.stats.open).toBe(0)
    const client = await openTunnel(socketPath, 'site.test:80')
    expect(proxy.setPolicy(NONE)).toEqual({ cut: 1 })
    await client.closed
  })

  it('is forgotten when its client leaves', async () => {
    const { socketPath, proxy } = await openTestProxy(PORT_80)
    const client = await openTunnel(socketPath, 'site.test:80')
    expect(proxy.stats.open).toBe(1)
    client.socket.end()
    await expect.poll(() => proxy.stats.open).toBe(0)
  })
})

describe('a WebSocket', () => {
  const upgrade = (host: string, protocol = 'websocket'): string =>
    `GET http://${host}/chat HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: ${protocol}\r\nSec-WebSocket-Key: x\r\n\r\n`

  const openSocketSite = async (): Promise<Site> => {
    const site = await openSite()
    site.server.on('upgrade', (request, socket: Socket) => {
      site.asked.push(`${request.url} ${request.headers.host} ${request.headers.upgrade}`)
      socket.on('error', () => {})
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX: 1\r\n\r\nwelcome',
      )
      socket.pipe(socket)
    })
    return site
  }

  it('passes both ways, and what was sent early with it', async () => {
    const { host, proxy, asked } = await openSocketSite()
    const client = new Client(proxy.socketPath).send(`${upgrade(host)}early`)
    await client.receive('welcomeearly')
    expect(client.text).toMatch(
      /^HTTP\/1.1 101 Switching Protocols\r\nX: 1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n/,
    )
    await client.send('ping').receive('ping')
    expect(asked).toEqual([`/chat ${host} websocket`])
    client.socket.end()
    await client.closed
    await expect.poll(() => proxy.proxy.stats.open).toBe(0)
  })

  it('is cut with the policy', async () => {
    const { host, proxy } = await openSocketSite()
    const client = await new Client(proxy.socketPath).send(upgrade(host)).receive('welcome')
    expect(proxy.proxy.setPolicy(NONE)).toEqual({ cut: 1 })
    await client.closed
  })

  it('that the server refuses gets its response', async () => {
    const { host, proxy } = await openSite((_, response) => response.writeHead(401).end('no'))
    const client = new Client(proxy.socketPath).send(upgrade(host))
    await client.closed
    expect(client.text).toMatch(/^HTTP\/1.1 401 Unauthorized\r\n[\s\S]*no/)
    await expect.poll(() => proxy.proxy.stats.open).toBe(0)
  })

  it('that is asked for before an earlier response has come ends the connection, and nothing else', async () => {
    const { host, proxy } = await openSocketSite()
    const get = `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`
    await new Client(proxy.socketPath).send(get + upgrade(host)).closed
    await new Client(proxy.socketPath).send(get + connectRequest(host)).closed
    await new Client(proxy.socketPath).send(get).receive('hi')
  })

  it('that is refused with a long response gets all of it', async () => {
    const { host, proxy } = await openSite((_, response) => response.end('x'.repeat(3_000_000)))
    const client = new Client(proxy.socketPath).send(upgrade(host, 'h2c'))
    await client.closed
    expect(client.text.length).toBeGreaterThan(3_000_000)
  })

  it('is the only protocol that a request can change to', async () => {
    const { host, proxy, asked } = await openSocketSite()
    await new Client(proxy.socketPath).send(upgrade(host, 'h2c')).receive('hi')
    expect(asked).toEqual([`GET /chat ${host}`])
  })

  it('that nobody asked for is an error', async () => {
    const { port } = await openRaw('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\nx')
    const { socketPath } = await openProxyFor(port)
    const client = new Client(socketPath).send(
      `GET http://site.test:${port}/ HTTP/1.1\r\nHost: site.test:${port}\r\n\r\n`,
    )
    await client.receive('HTTP/1.1 502')
  })
})

describe('a server that fails', () => {
  const ask = async (port: number): Promise<string> => {
    const { socketPath, proxy } = await openProxyFor(port)
    const host = `site.test:${port}`
    const answer = await askOnce(
      socketPath,
      `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
    )
    await expect.poll(() => proxy.stats.open).toBe(0)
    return answer
  }

  it.each([
    ['closes without an answer', ''],
    ['does not speak HTTP', 'SSH-2.0-x\r\n'],
    ['sends a status that does not exist', 'HTTP/1.1 099 X\r\nContent-Length: 0\r\n\r\n'],
    ['sends both lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
    ['sends headers without end', `HTTP/1.1 200 OK\r\n${'X: x\r\n'.repeat(20_000)}`],
    [
      'encodes the response in a way that we cannot pass on',
      'HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n',
    ],
  ])('and %s is answered with 502', async (_, answer) => {
    expect(await ask((await openRaw(answer)).port)).toMatch(/^HTTP\/1.1 502 /)
  })

  it('and resets, or does not listen, is answered with 502', async () => {
    const resetting = await openOrigin((socket) => socket.resetAndDestroy())
    expect(await ask(resetting.port)).toMatch(/^HTTP\/1.1 502 /)
    expect(await ask(1)).toMatch(/^HTTP\/1.1 502 /)
  })

  it('and breaks off its response breaks off the one to the client', async () => {
    const { port } = await openRaw('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf')
    const answer = await ask(port)
    expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n[\s\S]*half$/)
  })

  it('and never answers keeps the client only for a time', async () => {
    const { port } = await openOrigin()
    const { socketPath } = await openProxyFor(port, { idleMs: 50 })
    const host = `site.test:${port}`
    expect(
      await askOnce(socketPath, `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`),
    ).toMatch(/^HTTP\/1.1 502 /)
  })
})

it('a request that is open when the policy narrows is cut', async () => {
  const { port, sockets } = await openOrigin()
  const { socketPath, proxy } = await openProxyFor(port)
  const client = new Client(socketPath)
  client.send(`POST http://site.test:${port}/ HTTP/1.1\r\nHost: site.test:${port}\r\nContent-Length: 99\r\n\r\nhalf`)
  await expect.poll(() => proxy.stats.sent).toBe(4)
  expect(proxy.setPolicy(NONE)).toEqual({ cut: 1 })
  await client.closed
  await expect.poll(() => sockets[0]?.destroyed).toBe(true)
  expect(proxy.stats.open).toBe(0)
})

it('a client that does not read its response is given up', async () => {
  const { host, proxy } = await openSite((_, response) => response.end('x'.repeat(10_000_000)))
  const { socketPath, proxy: impatient } = await openProxyFor(Number(host.split(':')[1]), { idleMs: 500, headMs: 500 })
  expect(proxy.proxy.stats.open).toBe(0)
  const client = new Client(socketPath)
  client.socket.pause()
  client.send(`GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
  await expect.poll(() => impatient.stats.allowed).toBe(1)
  await expect.poll(() => impatient.stats.open).toBe(0)
  // What its own operating system has is all that is left for it.
  await expect.poll(() => client.socket.resume().destroyed).toBe(true)
  expect(client.text.length).toBeLessThan(10_000_000)
})

it('a client that leaves ends its request', async () => {
  const { port, sockets } = await openOrigin()
  const { socketPath, proxy } = await openProxyFor(port)
  const client = new Client(socketPath)
  client.send(`GET http://site.test:${port}/ HTTP/1.1\r\nHost: site.test:${port}\r\n\r\n`)
  await expect.poll(() => sockets.length).toBe(1)
  client.socket.destroy()
  await expect.poll(() => sockets[0]?.readableEnded).toBe(true)
  expect(proxy.stats.open).toBe(0)
})

it('a request to a name that is refused is not looked up', async () => {
  const { socketPath, lookups } = await openTestProxy({ policy: FULL })
  await askOnce(socketPath, 'GET http://10.0.0.1/ HTTP/1.1\r\nHost: 10.0.0.1\r\nConnection: close\r\n\r\n')
  expect(lookups).toEqual([])
})
