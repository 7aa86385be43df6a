import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
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

describe('a narrower policy', () => {
  it('cuts what it does not allow before it is set, and leaves the rest', async () => {
    const [one, other] = await Promise.all([openOrigin(), openOrigin()])
    const both = [`127.0.0.1:${one.port}`, `127.0.0.1:${other.port}`] as const
    const { socketPath, proxy, decisions } = await openTestProxy({ policy: policy('FULL', ...both) })
    const kept = await openTunnel(socketPath, both[0])
    const lost = await openTunnel(socketPath, both[1])
    lost.send('before')
    await expect.poll(other.received).toBe('before')
    expect(proxy.setPolicy(policy('PROXIED', both[0]))).toEqual({ cut: 1 })
    expect(decisions.at(-1)).toMatchObject({
      port: other.port,
      ok: false,
      reason: 'it is not on the allow list',
      bytes: { sent: 6, received: 0 },
    })
    lost.send('after')
    await lost.closed
    kept.send('still')
    await expect.poll(one.received).toBe('still')
    await expect.poll(() => other.sockets[0]?.destroyed).toBe(true)
    expect(other.received()).toBe('before')
    expect(proxy.stats).toMatchObject({ open: 1, cut: 1 })
  })

  it('takes back what the operating system has accepted but not sent', async () => {
    const origin = await openOrigin((socket) => socket.pause())
    const { socketPath, proxy } = await openTestProxy({ policy: policy('FULL', `127.0.0.1:${origin.port}`) })
    const client = await openTunnel(socketPath, `127.0.0.1:${origin.port}`)
    while (client.socket.writableLength < 30_000_000) client.send(Buffer.alloc(1_000_000, 'x'))
    await expect.poll(() => proxy.stats.sent).toBeGreaterThan(1_000_000)
    const [socket] = origin.sockets
    const sent = proxy.stats.sent
    proxy.setPolicy(NONE)
    socket?.resume()
    // Which of the two it sees depends on the version of Node.
    await expect.poll(() => socket?.readableEnded || socket?.destroyed).toBe(true)
    // It has read what its own operating system had. An ordinary close would have delivered nearly all the rest.
    expect(origin.received().length).toBeLessThan(sent / 2)
  })

  it('is in force before a name is looked up, while it is, and before the connection is used', async () => {
    const origin = await openOrigin()
    const answers: ((addresses: readonly string[]) => void)[] = []
    const { socketPath, proxy, decisions } = await openTestProxy({
      policy: policy('FULL', `127.0.0.1:${origin.port}`),
      resolve: () => new Promise((resolve) => answers.push(resolve)),
    })
    const client = new Client(socketPath).send(`${connectRequest(`db.test:${origin.port}`)}data`)
    await expect.poll(() => answers.length).toBe(1)
    expect(proxy.setPolicy(NONE)).toEqual({ cut: 1 })
    answers[0]?.(['127.0.0.1'])
    await client.receive('HTTP/1.1 403')
    await askOnce(socketPath, connectRequest(`db.test:${origin.port}`))
    expect(answers).toHaveLength(1)
    expect(origin.sockets).toEqual([])
    expect(decisions).toMatchObject([
      { ok: false, reason: 'the network mode is NONE', bytes: { sent: 0 } },
      { ok: false, reason: 'the network mode is NONE' },
    ])
  })

  it('judges the address that a name resolves to while it changes', async () => {
    const origin = await openOrigin()
    const address = `127.0.0.1:${origin.port}`
    const answers: ((addresses: readonly string[]) => void)[] = []
    const { socketPath, proxy } = await openTestProxy({
      policy: policy('PROXIED', `db.test:${origin.port}`, address),
      resolve: () => new Promise((resolve) => answers.push(resolve)),
    })
    const client = new Client(socketPath).send(connectRequest(`db.test:${origin.port}`))
    await expect.poll(() => answers.length).toBe(1)
    proxy.setPolicy(policy('PROXIED', `db.test:${origin.port}`))
    answers[0]?.(['127.0.0.1'])
    await client.receive('its address is not public (loopback)')
    expect(origin.sockets).toEqual([])
  })

  it('cannot be followed by a wider mode', async () => {
    const { socketPath, proxy } = await openTestProxy({ policy: policy('PROXIED', 'a.test') })
    expect(() => proxy.setPolicy(FULL)).toThrow('cannot be widened from PROXIED to FULL')
    expect(await askOnce(socketPath, connectRequest('b.test:443'))).toContain('it is not on the allow list')
    proxy.setPolicy(NONE)
    for (const wider of [FULL, policy('PROXIED', 'a.test')])
      expect(() => proxy.setPolicy(wider)).toThrow('cannot be widened')
    expect(await askOnce(socketPath, connectRequest('a.test:443'))).toContain('the network mode is NONE')
    expect(proxy.setPolicy(NONE)).toEqual({ cut: 0 })
  })

  it('is in force even if its decisions cannot be recorded', async () => {
    const origin = await openOrigin()
    let isFull = false
    const { socketPath, proxy } = await openTestProxy({
      policy: policy('FULL', `127.0.0.1:${origin.port}`),
      onDecision: () => {
        if (isFull) throw new Error('the disk is full')
      },
    })
    const clients = [1, 2, 3].map(() => openTunnel(socketPath, `127.0.0.1:${origin.port}`))
    const open = await Promise.all(clients)
    isFull = true
    expect(proxy.setPolicy(NONE)).toEqual({ cut: 3 })
    await Promise.all(open.map(({ closed }) => closed))
  })
})

it('no byte that is sent after the switch arrives, whatever happens at the same time', async () => {
  const origin = await openOrigin()
  const target = `127.0.0.1:${origin.port}`
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('connect', 'send', 'end', 'leave', 'tick'), { maxLength: 30 }),
      async (steps) => {
        const { socketPath, proxy } = await openTestProxy({ policy: policy('FULL', target) })
        const clients: Client[] = []
        const before = origin.received().length
        for (const [index, step] of steps.entries()) {
          const client = clients[index % Math.max(1, clients.length)]
          if (step === 'connect')
            clients.push(new Client(socketPath, { allowHalfOpen: true }).send(connectRequest(target)))
          else if (step === 'send') client?.socket.writable && client.send('public,')
          else if (step === 'end') client?.socket.end()
          else if (step === 'leave') client?.socket.destroy()
          else await new Promise((resolve) => setImmediate(resolve))
        }
        proxy.setPolicy(NONE)
        expect(proxy.stats.open).toBe(0)
        for (const { socket } of clients) if (socket.writable) socket.write('SECRET')
        const late = await askOnce(socketPath, connectRequest(target))
        expect(late).toMatch(/^HTTP\/1.1 403 /)
        await proxy.close()
        await expect.poll(() => origin.sockets.every((socket) => socket.readableEnded || socket.destroyed)).toBe(true)
        expect(origin.received().slice(before)).not.toContain('SECRET')
      },
    ),
    { numRuns: 60 },
  )
})
