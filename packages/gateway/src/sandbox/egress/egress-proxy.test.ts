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

describe('a tunnel', () => {
  it('carries bytes both ways to a listed host', async () => {
    const origin = await openOrigin((socket) => socket.pipe(socket))
    const { socketPath, decisions, proxy } = await openTestProxy({
      policy: policy('PROXIED', `db.test:${origin.port}`, `127.0.0.1:${origin.port}`),
      names: { 'db.test': ['127.0.0.1'] },
    })
    const client = await openTunnel(socketPath, `db.test:${origin.port}`)
    await client.send('ping').receive('ping')
    expect(decisions).toMatchObject([{ host: 'db.test', port: origin.port, address: '127.0.0.1', ok: true }])
    client.socket.end()
    await client.closed
    await expect.poll(() => proxy.stats).toMatchObject({ open: 0, allowed: 1, sent: 4, received: 4 })
  })

  it('is cut before setPolicy returns', async () => {
    const origin = await openOrigin()
    const { socketPath, proxy } = await openTestProxy({ policy: policy('FULL', `127.0.0.1:${origin.port}`) })
    const client = await openTunnel(socketPath, `127.0.0.1:${origin.port}`)
    client.send('before')
    await expect.poll(origin.received).toBe('before')
    expect(proxy.setPolicy(NONE)).toEqual({ cut: 1 })
    client.send('after')
    await client.closed
    await expect.poll(() => origin.sockets[0]?.destroyed).toBe(true)
    expect(origin.received()).toBe('before')
    expect(await askOnce(socketPath, connectRequest(`127.0.0.1:${origin.port}`))).toMatch(/^HTTP\/1.1 403 /)
  })
})

it('forwards absolute-form', async () => {
  const origin = await openOrigin((socket) =>
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: 1\r\n\r\nhi')),
  )
  const { socketPath } = await openTestProxy({ policy: policy('FULL', `127.0.0.1:${origin.port}`) })
  const client = new Client(socketPath)
  const host = `127.0.0.1:${origin.port}`
  await client
    .send(
      `GET http://${host}/a/../b?c HTTP/1.1\r\nHost: ${host}\r\nProxy-Authorization: Basic x\r\nX: y\r\nConnection: X\r\n\r\n`,
    )
    .receive('hi')
  expect(origin.received()).toBe(`GET /a/../b?c HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  expect(client.text).toContain('X-A: 1')
})
