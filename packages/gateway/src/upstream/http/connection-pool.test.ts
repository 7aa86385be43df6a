import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { TestPermit } from '../permit.test-kit.ts'
import { GATEWAY_PERMIT, type Permit } from '../permit.ts'
import type { ClientConnection, ConnectionRequest } from './client-connection.ts'
import { ConnectionPool } from './connection-pool.ts'

/**
 * Answers each request of a connection as the script says. One read is one request, since pools never send two at once.
 */
type Script = (socket: Socket, text: string) => void

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const answerOk: Script = (socket) => socket.write(OK)

async function open(script: Script, maxConnections = 10) {
  const sockets: Socket[] = []
  const requests: string[] = []
  const server: Server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => {}).setEncoding('latin1')
    socket.on('data', (text: string) => {
      requests.push(text)
      script(socket, text)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const pool = new ConnectionPool({ connect: () => connect(port, '127.0.0.1'), connected: 'connect', maxConnections })
  onTestFinished(async () => {
    pool.close()
    for (const socket of sockets) socket.destroy()
    if (server.listening) await new Promise((resolve) => server.close(resolve))
  })
  return { pool, sockets, requests, server }
}

class Exchange implements ConnectionRequest {
  readonly wire
  connection: ClientConnection | undefined
  readonly outcome: Promise<string>
  #resolve: (outcome: string) => void = () => {}
  #received = ''

  readonly permit: Permit

  constructor(body: string, permit: Permit = GATEWAY_PERMIT) {
    this.permit = permit
    const length = Buffer.byteLength(body)
    this.wire = { head: `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${length}\r\n\r\n`, body }
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  onHead({ status }: { readonly status: number }): void {
    this.#received = `${status} `
  }

  onBody(chunk: Buffer): void {
    this.#received += chunk.toString('latin1')
  }

  onEnd(): void {
    this.#resolve(this.#received)
  }

  onFailure(cause: Error, reach: 'sent' | 'unsent'): void {
    this.#resolve(`${reach}: ${'code' in cause ? cause.code : cause.message}`)
  }
}

function send(pool: ConnectionPool, body = '{}', permit?: Permit): Exchange {
  const exchange = new Exchange(body, permit)
  pool.send(exchange)
  return exchange
}

/** By then a connection that has answered can be used again. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('the connections to a server', () => {
  it('carry one request after the other', async () => {
    const { pool, sockets, requests } = await open(answerOk)
    for (let time = 0; time < 5; time++) {
      expect(await send(pool).outcome).toBe('200 ok')
      await turn()
    }
    expect([sockets.length, requests.length]).toEqual([1, 5])
  })

  it('are as many as simultaneous requests, up to the maximum; further requests wait', async () => {
    const waiting: Socket[] = []
    const { pool, sockets } = await open((socket) => waiting.push(socket), 3)
    const exchanges = Array.from({ length: 8 }, () => send(pool))
    for (const _ of exchanges) {
      await expect.poll(() => waiting.length).toBeGreaterThan(0)
      waiting.shift()?.write(OK)
    }
    expect(await Promise.all(exchanges.map(({ outcome }) => outcome))).toEqual(exchanges.map(() => '200 ok'))
    expect(sockets.length).toBe(3)
  })

  it('send bodies as UTF-8 with their length in bytes', async () => {
    const { pool, requests } = await open(answerOk)
    await send(pool, '{"a":"grüße"}').outcome
    expect(requests[0]).toContain('content-length: 15\r\n\r\n')
    expect(Buffer.from(requests[0] as string, 'latin1').toString('utf8')).toContain('{"a":"grüße"}')
  })

  it('are not used again after a response with extra bytes', async () => {
    const { pool, sockets } = await open((socket) => socket.write(OK + OK))
    for (let time = 0; time < 3; time++) expect(await send(pool).outcome).toBe('200 ok')
    expect(sockets.length).toBe(3)
  })

  it('are not used again after an unexpected message', async () => {
    const { pool, sockets } = await open(answerOk)
    await send(pool).outcome
    const closed = once(sockets[0] as Socket, 'close')
    sockets[0]?.write('HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n')
    await closed
    expect(await send(pool).outcome).toBe('200 ok')
    expect(sockets.length).toBe(2)
  })

  it.each([
    ['asks to close them', 'HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok'],
    ['is about to close them', 'HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nok'],
    ['speaks an older version', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok'],
  ])('are not used again if the server %s', async (_what, answer) => {
    const { pool, sockets } = await open((socket) => socket.write(answer))
    for (let time = 0; time < 3; time++) expect(await send(pool).outcome).toBe('200 ok')
    expect(sockets.length).toBe(3)
  })

  it('are closed when they have not been used for a while', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
    onTestFinished(() => void vi.useRealTimers())
    const { pool, sockets } = await open(answerOk)
    await send(pool).outcome
    await turn()
    const closed = once(sockets[0] as Socket, 'close')
    vi.advanceTimersByTime(2_000)
    await send(pool).outcome
    await turn()
    vi.advanceTimersByTime(3_500)
    await send(pool).outcome
    await turn()
    expect(sockets.length).toBe(1)
    vi.advanceTimersByTime(6_000)
    await closed
  })

  it('are not used again if the server answered before it had read the whole request', async () => {
    const { pool, sockets } = await open((socket, text) => {
      if (text.endsWith('xx')) socket.pause()
      socket.write(OK)
    })
    expect(await send(pool, 'x'.repeat(20_000_000)).outcome).toBe('200 ok')
    await turn()
    expect(await send(pool).outcome).toBe('200 ok')
    expect(sockets.length).toBe(2)
  })

  it('that the server closes right after its answer do not fail the next request', async () => {
    const { pool, sockets } = await open((socket) => socket.end(OK), 2)
    for (let time = 0; time < 5; time++) expect(await send(pool).outcome).toBe('200 ok')
    const exchanges = Array.from({ length: 8 }, () => send(pool))
    for (const { outcome } of exchanges) expect(await outcome).toBe('200 ok')
    expect(sockets.length).toBe(13)
  })

  it('that the server closed are replaced', async () => {
    const { pool, sockets } = await open(answerOk)
    await send(pool).outcome
    const first = sockets[0] as Socket
    first.end()
    await once(first, 'close')
    expect(await send(pool).outcome).toBe('200 ok')
    expect(sockets.length).toBe(2)
  })
})

describe('a request that gets no answer', () => {
  it('reports that nobody was listening', async () => {
    const { pool, server } = await open(answerOk, 1)
    await new Promise((resolve) => server.close(resolve))
    const exchanges = [send(pool), send(pool)]
    for (const { outcome } of exchanges) expect(await outcome).toBe('unsent: ECONNREFUSED')
  })

  it.each([
    ['was closed', (socket: Socket) => socket.end(), 'sent: CONNECTION_CLOSED'],
    ['was reset', (socket: Socket) => socket.resetAndDestroy(), 'sent: ECONNRESET'],
    [
      'was closed in its middle',
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok'),
      'sent: CONNECTION_CLOSED',
    ],
    ['sent invalid HTTP', (socket: Socket) => socket.write('220 smtp.example ESMTP\r\n'), 'sent: BROKEN_HTTP'],
  ])('reports that its connection %s', async (_what, script, outcome) => {
    const { pool } = await open(script)
    expect(await send(pool).outcome).toBe(outcome)
  })

  it('because it was cancelled is not reported, and does not block other requests', async () => {
    const waiting: Socket[] = []
    const { pool, requests } = await open(
      (socket, text) => (text.endsWith('last') ? socket.write(OK) : waiting.push(socket)),
      1,
    )
    const [running, queued, last] = [send(pool, 'first'), send(pool, 'queued'), send(pool, 'last')]
    const onOutcome = vi.fn()
    void Promise.race([running.outcome, queued.outcome]).then(onOutcome)
    await expect.poll(() => waiting).toHaveLength(1)
    pool.cancel(queued)
    pool.cancel(running)
    expect(await last.outcome).toBe('200 ok')
    expect(requests.map((text) => text.split('\r\n\r\n')[1])).toEqual(['first', 'last'])
    expect(onOutcome).not.toHaveBeenCalled()
  })

  it('that is cancelled after its answer harms nobody', async () => {
    const { pool, sockets } = await open(answerOk)
    const first = send(pool)
    await first.outcome
    await turn()
    const second = send(pool)
    pool.cancel(first)
    expect(await second.outcome).toBe('200 ok')
    expect(sockets.length).toBe(1)
  })

  it('because the pool was closed is reported, in whatever state it was', async () => {
    const { pool, requests } = await open(() => {}, 1)
    const exchanges = [send(pool), send(pool)]
    await expect.poll(() => requests).toHaveLength(1)
    pool.close()
    exchanges.push(send(pool))
    expect(await Promise.all(exchanges.map(({ outcome }) => outcome))).toEqual([
      'sent: CLOSED',
      'unsent: CLOSED',
      'unsent: CLOSED',
    ])
  })
})

describe(`a request that waits for a connection (${promise('GOV-13')})`, () => {
  it('is not sent in its turn if it is no longer allowed, and delays nobody', async () => {
    const waiting: Socket[] = []
    const { pool, requests } = await open((socket) => waiting.push(socket), 1)
    const permits = Array.from({ length: 4 }, () => new TestPermit())
    const [first, ...others] = permits.map((permit, index) => send(pool, `call ${index}`, permit))
    await expect.poll(() => waiting.length).toBe(1)
    for (const permit of permits.slice(0, 3)) permit.becomeStale()
    waiting.shift()?.write(OK)
    expect(await first?.outcome).toBe('200 ok')
    await expect.poll(() => waiting.length).toBe(1)
    waiting.shift()?.write(OK)
    const outcomes = await Promise.all(others.map(({ outcome }) => outcome))
    expect(outcomes).toEqual(['unsent: MODE_FORBIDS', 'unsent: MODE_FORBIDS', '200 ok'])
    expect(requests.map((text) => text.split('\r\n\r\n')[1])).toEqual(['call 0', 'call 3'])
    expect(permits.map(({ timesSent }) => timesSent)).toEqual([1, 0, 0, 1])
  })

  it('keeps its queue position during the policy recheck', async () => {
    const { pool, requests } = await open(answerOk, 1)
    const first = new Exchange('first')
    const late = new Exchange('late')
    const permit = new TestPermit().becomeStale(
      Promise.resolve().then(() => {
        pool.send(late)
        return undefined
      }),
    )
    const renewed = new Exchange('renewed', permit)
    for (const exchange of [first, renewed]) pool.send(exchange)
    for (const { outcome } of [first, renewed, late]) expect(await outcome).toBe('200 ok')
    expect(requests.map((text) => text.split('\r\n\r\n')[1])).toEqual(['first', 'renewed', 'late'])
  })

  it('is not sent if it is cancelled during the policy recheck', async () => {
    const { pool, requests } = await open(answerOk, 1)
    await send(pool, 'first').outcome
    const answers: ((refusal: undefined) => void)[] = []
    const permit = new TestPermit().becomeStale(new Promise((resolve) => answers.push(resolve)))
    const second = send(pool, 'second', permit)
    await expect.poll(() => permit.timesRenewed).toBe(1)
    pool.cancel(second)
    answers[0]?.(undefined)
    expect(await send(pool, 'third').outcome).toBe('200 ok')
    expect(requests).toHaveLength(2)
    expect(permit.timesSent).toBe(0)
  })
})
