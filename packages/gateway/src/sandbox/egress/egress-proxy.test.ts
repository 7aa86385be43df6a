import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { clientHello, ECH, nameEntry, serverNames } from './client-hello.test-kit.ts'
import {
  askOnce,
  Client,
  closeAll,
  connectRequest,
  FULL,
  NONE,
  openOrigin,
  openTestProxy,
  openTunnel,
  policy,
} from './egress.test-kit.ts'

afterEach(closeAll)

const echo = () => openOrigin((socket) => socket.pipe(socket))

/** A proxy that leads `db.test` to the origin. */
const openFor = ({ port }: { readonly port: number }, mode: 'FULL' | 'PROXIED' = 'PROXIED') =>
  openTestProxy({
    policy: policy(mode, `db.test:${port}`, `127.0.0.1:${port}`),
    names: { 'db.test': ['127.0.0.1'] },
  })

describe('a tunnel', () => {
  it('carries bytes both ways to a listed host', async () => {
    const origin = await echo()
    const { socketPath, decisions, proxy } = await openFor(origin)
    const client = await openTunnel(socketPath, `DB.test.:${origin.port}`)
    await client.send('ping').receive('ping')
    expect(decisions).toMatchObject([
      { host: 'db.test', port: origin.port, address: '127.0.0.1', ok: true, reason: 'it is on the allow list' },
    ])
    client.socket.end()
    await client.closed
    await expect.poll(() => proxy.stats).toMatchObject({ open: 0, allowed: 1, cut: 0, sent: 4, received: 4 })
  })

  it('carries what the client sent together with its request', async () => {
    const origin = await echo()
    const { socketPath } = await openFor(origin)
    const client = new Client(socketPath).send(`${connectRequest(`db.test:${origin.port}`)}early`)
    await client.receive('\r\n\r\nearly')
  })

  it('lets the server speak first', async () => {
    const origin = await openOrigin((socket) => socket.write('220 ready'))
    const { socketPath } = await openFor(origin)
    await (await openTunnel(socketPath, `db.test:${origin.port}`)).receive('220 ready')
  })

  it('stays open in one direction when the other one ends', async () => {
    const origin = await openOrigin((socket) => {
      socket.once('end', () => socket.end('all of it'))
    })
    const { socketPath, proxy } = await openFor(origin)
    const client = new Client(socketPath, { allowHalfOpen: true }).send(connectRequest(`db.test:${origin.port}`))
    await client.receive('\r\n\r\n')
    client.socket.end('a question')
    await client.receive('all of it')
    expect(origin.received()).toBe('a question')
    await expect.poll(() => proxy.stats.open).toBe(0)
  })

  it('delivers all that a server sent before it closed to a client that reads slowly', async () => {
    const size = 3_000_000
    const origin = await openOrigin((socket) => socket.end(Buffer.alloc(size, 'x')))
    const { socketPath, proxy } = await openFor(origin)
    const client = new Client(socketPath)
    client.send(connectRequest(`db.test:${origin.port}`))
    await once(client.socket, 'data')
    client.socket.pause()
    await expect.poll(() => proxy.stats.received).toBeGreaterThan(0)
    client.socket.resume()
    await client.closed
    expect(client.text.length - client.text.indexOf('\r\n\r\n') - 4).toBe(size)
  })

  it('reads no faster than the server does', async () => {
    const origin = await openOrigin((socket) => socket.pause())
    const { socketPath, proxy } = await openFor(origin)
    const client = await openTunnel(socketPath, `db.test:${origin.port}`)
    let written = 0
    const block = Buffer.alloc(1_000_000)
    while (client.socket.write(block) || client.socket.writableLength < 40_000_000) written += block.length
    let before = -1
    await expect
      .poll(
        () => {
          const isStill = proxy.stats.sent === before && before > 0
          before = proxy.stats.sent
          return isStill
        },
        { interval: 200 },
      )
      .toBe(true)
    expect(proxy.stats.sent).toBeLessThan(written / 2)
    origin.sockets[0]?.resume()
    await expect.poll(() => client.socket.writableLength).toBe(0)
  })

  it('ends with a server that resets it, and with a client that goes away', async () => {
    const origin = await echo()
    const { socketPath, proxy } = await openFor(origin)
    const first = await openTunnel(socketPath, `db.test:${origin.port}`)
    await first.send('x').receive('x')
    origin.sockets[0]?.resetAndDestroy()
    await first.closed
    const second = await openTunnel(socketPath, `db.test:${origin.port}`)
    await second.send('y').receive('y')
    second.socket.destroy()
    await expect.poll(() => origin.sockets[1]?.readableEnded).toBe(true)
    await expect.poll(() => proxy.stats.open).toBe(0)
  })
})

describe('a target', () => {
  it.each([
    ['127.0.0.1:22', 403, 'it is not a public address (loopback)'],
    ['2130706433:22', 403, 'it is not a public address (loopback)'],
    ['0x7f.1:80', 403, 'it is not a public address (loopback)'],
    ['[::ffff:127.0.0.1]:443', 403, 'it is not a public address (embedded IPv4)'],
    ['private.test:443', 403, 'its address is not public (private)'],
    ['metadata.test:443', 403, 'its address is not public (metadata)'],
    ['scoped.test:443', 502, 'its name does not resolve'],
    ['unknown.test:443', 502, 'its name does not resolve'],
  ])('%s is answered %i: %s', async (target, status, reason) => {
    const { socketPath, decisions, proxy } = await openTestProxy({
      policy: FULL,
      names: { 'private.test': ['10.0.0.1'], 'metadata.test': ['169.254.169.254'], 'scoped.test': ['fe80::1%lo'] },
    })
    const answer = await askOnce(socketPath, connectRequest(target))
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(answer).toContain(`No connection through the egress proxy: ${reason}.\n`)
    expect(answer).toMatch(/\r\nProxy-Status: sallyport; error=\w+; details="/)
    expect(decisions).toMatchObject([{ ok: false, reason }])
    expect(proxy.stats).toMatchObject({ open: 0, refused: 1, allowed: 0 })
  })

  it.each([
    '',
    'db.test',
    'db.test:',
    'db.test:0',
    'db.test:99999',
    'a:b@db.test:443',
    '/path',
    'http://db.test/',
    '::1:443',
  ])('"%s" of CONNECT is not understood', async (target) => {
    const { socketPath, decisions } = await openTestProxy({ policy: FULL })
    expect(await askOnce(socketPath, connectRequest(target))).toMatch(/^HTTP\/1.1 400 /)
    expect(decisions).toEqual([])
  })

  it('is not looked up if its name is refused', async () => {
    const { socketPath, lookups, proxy } = await openTestProxy({ policy: policy('PROXIED', 'api.test') })
    await askOnce(socketPath, connectRequest('secret-in-a-name.evil.test:443'))
    proxy.setPolicy(NONE)
    await askOnce(socketPath, connectRequest('api.test:443'))
    expect(lookups).toEqual([])
  })

  it('is resolved once for each connection, and only the checked address is contacted', async () => {
    const origin = await echo()
    const answers = [['198.51.100.7'], ['127.0.0.1']]
    const asked: string[] = []
    const { socketPath, decisions } = await openTestProxy({
      policy: policy('PROXIED', `rebind.test:${origin.port}`),
      limits: { connectMs: 300 },
      resolve: async (name) => {
        asked.push(name)
        return answers.shift() ?? []
      },
    })
    // The first answer is public, but nobody is there. A proxy that lets the operating system connect by name is fooled here.
    expect(await askOnce(socketPath, connectRequest(`rebind.test:${origin.port}`))).toMatch(/^HTTP\/1.1 502 /)
    expect(asked).toEqual(['rebind.test'])
    expect(await askOnce(socketPath, connectRequest(`rebind.test:${origin.port}`))).toMatch(/^HTTP\/1.1 403 /)
    expect(decisions).toMatchObject([
      { address: '198.51.100.7', ok: false, reason: 'none of its addresses answers' },
      { address: '127.0.0.1', ok: false, reason: 'its address is not public (loopback)' },
    ])
    expect(origin.sockets).toEqual([])
  })

  it('with good and bad addresses is reached at the good ones only', async () => {
    const good = await echo()
    const { socketPath, decisions } = await openTestProxy({
      policy: policy('PROXIED', `mixed.test:${good.port}`, `127.0.0.2:${good.port}`, `127.0.0.1:${good.port}`),
      names: { 'mixed.test': ['10.1.1.1', '127.0.0.2', '::1', '127.0.0.1'] },
    })
    // Nobody listens at 127.0.0.2.
    const client = await openTunnel(socketPath, `mixed.test:${good.port}`)
    await client.send('x').receive('x')
    expect(decisions).toMatchObject([{ address: '127.0.0.1', ok: true }])
  })
})

describe('TLS to another host than the one of the tunnel', () => {
  const hello = (name: string): Buffer => clientHello(serverNames(nameEntry(name)))

  it.each<[string, readonly Buffer[]]>([
    ['in one packet', [hello('evil.test')]],
    ['in many packets', [...hello('evil.test')].map((byte) => Buffer.from([byte]))],
    ['that cannot be read', [clientHello(serverNames(nameEntry('db.test'), nameEntry('evil.test')))]],
  ])('%s does not reach the server', async (_, packets) => {
    const origin = await openOrigin()
    const { socketPath, decisions, proxy } = await openFor(origin, 'FULL')
    const client = await openTunnel(socketPath, `db.test:${origin.port}`)
    for (const packet of packets) client.send(packet)
    await client.closed
    await expect.poll(() => origin.sockets[0]?.destroyed).toBe(true)
    expect(origin.received()).toBe('')
    expect(decisions).toMatchObject([{ ok: true }, { ok: false, host: 'db.test', bytes: { sent: 0 } }])
    expect(proxy.stats).toMatchObject({ open: 0, cut: 1 })
  })

  it('is noticed however the ClientHello is cut, and the right one passes unchanged', async () => {
    const origin = await openOrigin()
    const { socketPath } = await openFor(origin)
    const client = await openTunnel(socketPath, `db.test:${origin.port}`)
    const bytes = Buffer.concat([hello('db.test'), Buffer.from('more')])
    for (const byte of bytes) client.send(Buffer.from([byte]))
    await expect.poll(origin.received).toBe(bytes.toString('latin1'))
  })

  it('does not pass if it never becomes complete', async () => {
    const origin = await openOrigin()
    const { socketPath, decisions } = await openTestProxy({
      policy: policy('FULL', `127.0.0.1:${origin.port}`),
      limits: { headMs: 1_000 },
    })
    const part = hello('127.0.0.1').subarray(0, 20)
    await (await openTunnel(socketPath, `127.0.0.1:${origin.port}`)).send(part).closed
    const ended = await openTunnel(socketPath, `127.0.0.1:${origin.port}`)
    ended.send(part).socket.end()
    await ended.closed
    expect(origin.received()).toBe('')
    expect(decisions.filter(({ ok }) => !ok).map(({ reason }) => reason)).toEqual([
      'its TLS handshake was not completed in time',
      'its TLS handshake is not complete',
    ])
  })

  it('does not pass behind an encrypted name', async () => {
    const origin = await openOrigin()
    const { socketPath } = await openFor(origin)
    const client = await openTunnel(socketPath, `db.test:${origin.port}`)
    await client.send(clientHello(ECH, serverNames(nameEntry('front.test')))).closed
    expect(origin.received()).toBe('')
  })
})

describe('the limits', () => {
  it('bound the connections at a time', async () => {
    const origin = await echo()
    const { socketPath, decisions } = await openTestProxy({
      policy: policy('FULL', `127.0.0.1:${origin.port}`),
      limits: { connections: 2 },
    })
    const target = `127.0.0.1:${origin.port}`
    const first = await openTunnel(socketPath, target)
    await openTunnel(socketPath, target)
    expect(await askOnce(socketPath, connectRequest(target))).toMatch(/^HTTP\/1.1 503 /)
    expect(decisions.at(-1)).toMatchObject({ ok: false, reason: 'more than 2 connections are open' })
    first.socket.destroy()
    await expect.poll(() => origin.sockets[0]?.readableEnded).toBe(true)
    await openTunnel(socketPath, target)
  })

  it('bound the bytes of a connection', async () => {
    const origin = await openOrigin()
    const { socketPath, decisions } = await openTestProxy({
      policy: policy('FULL', `127.0.0.1:${origin.port}`),
      limits: { bytesPerConnection: 10 },
    })
    const client = await openTunnel(socketPath, `127.0.0.1:${origin.port}`)
    client.send('12345')
    await expect.poll(origin.received).toBe('12345')
    await client.send('678901').closed
    expect(origin.received()).toBe('12345')
    expect(decisions.at(-1)).toMatchObject({ ok: false, reason: 'it carried more than 10 bytes', bytes: { sent: 11 } })
  })

  it('end a connection without traffic', async () => {
    const origin = await openOrigin()
    const { socketPath, proxy } = await openTestProxy({
      policy: policy('FULL', `127.0.0.1:${origin.port}`),
      limits: { idleMs: 50 },
    })
    await (await openTunnel(socketPath, `127.0.0.1:${origin.port}`)).closed
    expect(proxy.stats.open).toBe(0)
  })

  it('end a lookup that takes too long', async () => {
    const { socketPath } = await openTestProxy({
      policy: FULL,
      limits: { connectMs: 50 },
      resolve: () => new Promise(() => {}),
    })
    expect(await askOnce(socketPath, connectRequest('slow.test:443'))).toContain('its name does not resolve')
  })

  it('let a few lookups run at a time, and forget those that nobody waits for', async () => {
    const pending: ((addresses: string[]) => void)[] = []
    const { socketPath, proxy } = await openTestProxy({
      policy: FULL,
      resolve: () => new Promise((resolve) => pending.push(resolve)),
    })
    const clients = Array.from({ length: 12 }, (_, index) =>
      new Client(socketPath).send(connectRequest(`h${index}.test:443`)),
    )
    await expect.poll(() => proxy.stats.open).toBe(12)
    expect(pending).toHaveLength(8)
    expect(proxy.setPolicy(policy('PROXIED', 'late.test'))).toEqual({ cut: 12 })
    await Promise.all(clients.map((client) => client.receive('it is not on the allow list')))
    const late = new Client(socketPath).send(connectRequest('late.test:443'))
    await expect.poll(() => proxy.stats.open).toBe(1)
    for (const answer of pending.splice(0)) answer(['10.0.0.1'])
    await expect.poll(() => pending.length).toBe(1)
    pending[0]?.(['10.0.0.1'])
    await late.receive('not public (private)')
  })

  it('bound the headers of a request', async () => {
    const { socketPath } = await openTestProxy({ policy: FULL, limits: { headBytes: 1_000 } })
    const answer = await askOnce(socketPath, `CONNECT a.test:443 HTTP/1.1\r\nX: ${'x'.repeat(2_000)}\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1.1 431 /)
  })
})

it('a decision that cannot be recorded lets no byte pass', async () => {
  const origin = await echo()
  const { socketPath, proxy } = await openTestProxy({
    policy: policy('FULL', `127.0.0.1:${origin.port}`),
    onDecision: () => {
      throw new Error('the disk is full')
    },
  })
  expect(await askOnce(socketPath, `${connectRequest(`127.0.0.1:${origin.port}`)}x`)).toContain('it cannot be recorded')
  expect(await askOnce(socketPath, connectRequest('127.0.0.1:1'))).toMatch(/^HTTP\/1.1 403 /)
  await expect.poll(() => origin.sockets[0]?.destroyed).toBe(true)
  expect(origin.received()).toBe('')
  expect(proxy.stats).toMatchObject({ open: 0, allowed: 0 })
})

it.runIf(existsSync('/proc/self/fd'))('no descriptor is left, however connections end', async () => {
  const openDescriptors = (): number => readdirSync('/proc/self/fd').length
  const origin = await openOrigin((socket) => {
    socket.once('data', (chunk) => {
      const order = chunk.toString()
      if (order === 'end') socket.end('bye')
      else if (order === 'reset') socket.resetAndDestroy()
      else socket.write('stay')
    })
  })
  const address = `127.0.0.1:${origin.port}`
  const { socketPath, proxy } = await openTestProxy({ policy: policy('FULL', address, '127.0.0.2:1') })
  const before = openDescriptors()
  const clients: Client[] = []
  for (let round = 0; round < 20; round++) {
    for (const order of ['end', 'reset', 'stay', 'leave', 'leave at once']) {
      const client = new Client(socketPath).send(connectRequest(address))
      clients.push(client)
      if (order !== 'leave at once') await client.receive('\r\n\r\n')
      client.send(order)
      if (order.startsWith('leave')) client.socket.destroy()
    }
    for (const target of ['127.0.0.2:1', '10.0.0.1:1', 'no', 'x.test:443'])
      await askOnce(socketPath, connectRequest(target))
    const request = `GET http://${address}/ HTTP/1.1\r\nHost: ${address}\r\n\r\n`
    clients.push(new Client(socketPath).send(request).send(request))
  }
  expect(proxy.stats.open).toBeGreaterThan(0)
  proxy.setPolicy(NONE)
  for (const { socket } of clients) socket.destroy()
  for (const socket of origin.sockets) socket.destroy()
  await expect.poll(openDescriptors).toBeLessThanOrEqual(before)
})

it('closing ends all connections and removes the socket', async () => {
  const origin = await echo()
  const { socketPath, proxy } = await openTestProxy({ policy: policy('FULL', `127.0.0.1:${origin.port}`) })
  const tunnel = await openTunnel(socketPath, `127.0.0.1:${origin.port}`)
  const idle = new Client(socketPath)
  await once(idle.socket, 'connect')
  await proxy.close()
  await Promise.all([tunnel.closed, idle.closed])
  const [error] = await once(connect(socketPath), 'error')
  expect(error).toMatchObject({ code: 'ENOENT' })
})

it('a socket that cannot be opened is reported', async () => {
  await expect(openTestProxy({ policy: NONE, socketPath: '/nowhere/egress.sock' })).rejects.toThrow('EACCES')
})
