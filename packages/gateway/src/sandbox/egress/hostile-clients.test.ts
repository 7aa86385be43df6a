import { existsSync, readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { Socket } from 'node:net'
import fc from 'fast-check'
import { afterEach, expect, it } from 'vitest'
import { Client, closeAll, connectRequest, listen, openOrigin, openTestProxy, policy } from './egress.test-kit.ts'

afterEach(closeAll)

const RAW_ANSWERS = [
  '',
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab',
  'HTTP/1.1 103 X\r\n\r\nHTTP/1.1 2',
  'x\r\n\r\n',
]

const openDescriptors = (): number => (existsSync('/proc/self/fd') ? readdirSync('/proc/self/fd').length : 0)

/** What clients send, to which of two servers. */
const REQUESTS: readonly ((host: string) => string)[] = [
  connectRequest,
  (host) => `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
  (host) =>
    `POST http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n0\r\n\r\n`,
  (host) => `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
  (host) => `GET http://${host}/ HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n`,
  () => 'junk\r\n\r\n',
  () => '\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00',
  () => '\0'.repeat(100_000),
]

const anyPart = fc.record({
  request: fc.constantFrom(...REQUESTS),
  server: fc.boolean(),
  /** How much of it is sent. */
  share: fc.oneof(fc.constant(1), fc.double({ min: 0, max: 1, noNaN: true })),
  isAwaited: fc.boolean(),
})

it('no sequence of requests and no answer ends the process, keeps a descriptor, or harms the next client', async () => {
  const web = createServer((_, response) => response.end('x'.repeat(150_000)))
  web.on('upgrade', (_, socket: Socket) => {
    socket.on('error', () => {}).resume()
    socket.end('HTTP/1.1 101 X\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nabc')
  })
  const good = `127.0.0.1:${await listen(web)}`
  let next = 0
  const raw = await openOrigin((socket) => {
    const answer = RAW_ANSWERS[next++ % (RAW_ANSWERS.length + 1)]
    socket.once('end', () => socket.end())
    if (answer === undefined) socket.resetAndDestroy()
    else if (answer === '') socket.pipe(socket)
    else socket.write(answer)
  })
  const bad = `127.0.0.1:${raw.port}`
  const limits = { idleMs: 500, headMs: 500 }
  const { socketPath, proxy } = await openTestProxy({ policy: policy('FULL', good, bad), limits })
  const before = openDescriptors()
  const anyEnd = fc.constantFrom('destroy', 'end', 'wait')
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyPart, { minLength: 1, maxLength: 5 }),
      anyEnd,
      fc.boolean(),
      async (parts, end, allowHalfOpen) => {
        const client = new Client(socketPath, { allowHalfOpen })
        for (const { request, server, share, isAwaited } of parts) {
          const text = request(server ? good : bad)
          if (client.socket.writable) client.send(text.slice(0, Math.ceil(text.length * share)))
          if (isAwaited) await new Promise((resolve) => setImmediate(resolve))
        }
        if (end === 'destroy') client.socket.destroy()
        if (end === 'end') client.socket.end()
        // A client that stays is ended by the limits of time, and one that half stays by our own end.
        client.socket.once('end', () => client.socket.end())
        await client.closed
      },
    ),
    { numRuns: 150 },
  )
  const client = new Client(socketPath).send(
    `GET http://${good}/ HTTP/1.1\r\nHost: ${good}\r\nConnection: close\r\n\r\n`,
  )
  await client.closed
  expect(client.text).toMatch(/^HTTP\/1.1 200 OK\r\n/)
  await expect.poll(() => proxy.stats.open).toBe(0)
  await expect.poll(openDescriptors).toBeLessThanOrEqual(before)
})
