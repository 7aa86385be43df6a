import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import { deferred } from '../deferred.test-kit.ts'
import { echo, openConnections, post, type TestClient, TIMEOUTS } from './http-connections.test-kit.ts'

describe('a connection that sends requests', () => {
  it('is answered without node:http while its requests arrive in one piece, then by node:http', async () => {
    const { dial } = await openConnections()
    const client = await dial()
    client.socket.write(post('one'))
    expect(await client.answers(1)).toEqual([{ whole: 'one' }])
    client.socket.write(post('two'))
    await client.answers(2)
    const parts = post('three')
    client.socket.write(parts.slice(0, -2))
    // Send the rest when the beginning must have been read.
    const other = await dial()
    other.socket.write(post('x'))
    await other.answers(1)
    client.socket.write(parts.slice(-2))
    await client.answers(3)
    client.socket.write(post('four'))
    expect(await client.answers(4)).toEqual([{ whole: 'one' }, { whole: 'two' }, { node: 'three' }, { node: 'four' }])
  })

  it.each([
    ['byte by byte', [...post('slow')]],
    ['with its head first', [post('slow').slice(0, -4), 'slow']],
    ['with connection: close', [post('slow', 'connection: close\r\n')]],
    [
      'as a chunked body',
      ['POST /mcp HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n4\r\nslow\r\n0\r\n\r\n'],
    ],
  ])('%s is answered, and nothing is lost', async (_how, parts) => {
    const { dial } = await openConnections()
    const client = await dial()
    for (const part of parts) await new Promise((resolve) => client.socket.write(part, resolve))
    // Some parts may arrive together.
    expect((await client.answers(1)).map((answer) => Object.values(answer as object)[0])).toEqual(['slow'])
  })

  it('with a body larger than one read is answered by node:http', async () => {
    const { dial } = await openConnections()
    const client = await dial()
    client.socket.write(post('b'.repeat(1_000_000)))
    expect(await client.answers(1)).toEqual([{ node: 1_000_000 }])
  })

  it('without waiting for answers gets them in order, whoever writes them', async () => {
    const waiting: (() => void)[] = []
    const { dial } = await openConnections((request, answer) => waiting.push(() => echo(request, answer)))
    const client = await dial()
    client.socket.write(post('one'))
    await expect.poll(() => waiting).toHaveLength(1)
    client.socket.write(post('two'))
    client.socket.write(post('three') + post('four'))
    client.socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
    waiting.shift()?.()
    const [first, ...others] = await Promise.race([client.answers(5), served(client, waiting)])
    expect(first).toEqual({ whole: 'one' })
    expect(others.map((answer) => Object.values(answer as object)[0])).toEqual(['two', 'three', 'four', ''])
  })

  it('beyond the buffer limit gets all answers in the end', async () => {
    const arrived = deferred<() => void>()
    const { dial, server } = await openConnections((request, answer) => arrived.resolve(() => echo(request, answer)))
    const accepted = once(server, 'connection') as Promise<[Socket]>
    const client = await dial()
    const [served] = await accepted
    client.socket.write(post('one'))
    const go = await arrived.promise
    client.socket.write(post('b'.repeat(3_000_000)))
    await expect.poll(() => served.isPaused()).toBe(true)
    go()
    expect(await client.answers(2)).toEqual([{ whole: 'one' }, { node: 3_000_000 }])
  })

  it('many times in one packet does not overflow the stack', async () => {
    const { dial } = await openConnections()
    const client = await dial()
    client.socket.write(post('first'))
    await client.answers(1)
    client.socket.write(post('x').repeat(2_000))
    expect((await client.answers(2_001)).length).toBe(2_001)
  })
})

/** Holds answers back until five requests have arrived. */
async function served(client: TestClient, waiting: (() => void)[]): Promise<readonly unknown[]> {
  const timer = setInterval(() => waiting.shift()?.(), 5)
  try {
    return await client.answers(5)
  } finally {
    clearInterval(timer)
  }
}

describe('a connection that ends', () => {
  it('reports the disconnect only to a call in flight', async () => {
    const left: string[] = []
    const arrived = deferred<undefined>()
    const { dial } = await openConnections((request, answer) => {
      const what = request.body.toString()
      answer.onDisconnect(() => left.push(what))
      if (what === 'answered') echo(request, answer)
      else arrived.resolve(undefined)
    })
    const client = await dial()
    client.socket.write(post('answered'))
    await client.answers(1)
    client.socket.write(post('left'))
    await arrived.promise
    client.socket.destroy()
    await expect.poll(() => left).toEqual(['left'])
  })

  it('reports the disconnect also while its answer is a stream', async () => {
    const left = deferred<string>()
    const { dial } = await openConnections((_request, answer) => {
      answer.onDisconnect(() => left.resolve('left'))
      answer.open().writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"node":1}\n\n')
    })
    const client = await dial()
    client.socket.write(post('x'))
    await client.answers(1)
    client.socket.destroy()
    expect(await left.promise).toBe('left')
  })

  it('can serve the next request when its stream has ended', async () => {
    const { dial } = await openConnections((request, answer) => {
      if (request.body.toString() !== 'stream') return echo(request, answer)
      const response = answer.open()
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"node":1}\n\n')
      response.end('data: {"node":2}\n\n')
    })
    const client = await dial()
    for (let time = 1; time <= 3; time++) {
      client.socket.write(post('stream'))
      await client.answers(3 * time - 1)
      client.socket.write(post('plain'))
      await client.answers(3 * time)
    }
    expect((await client.answers(9)).slice(-3)).toEqual([{ node: 1 }, { node: 2 }, { whole: 'plain' }])
    expect(client.text.match(/\r\n0\r\n\r\n/g)).toHaveLength(3)
  })

  it('is closed if it is idle, sooner if it never sent a request', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { dial } = await openConnections()
    const [silent, asked] = [await dial(), await dial()]
    asked.socket.write(post('one'))
    await asked.answers(1)
    vi.advanceTimersByTime(TIMEOUTS.firstRequestMs + TIMEOUTS.checkIntervalMs)
    await silent.closed
    asked.socket.write(post('two'))
    await asked.answers(2)
    vi.advanceTimersByTime(TIMEOUTS.nextRequestMs)
    asked.socket.write(post('three'))
    await asked.answers(3)
    vi.advanceTimersByTime(TIMEOUTS.nextRequestMs + TIMEOUTS.checkIntervalMs)
    await asked.closed
    expect(silent.text).toBe('')
  })

  it('is not closed as idle while its call is in flight', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const arrived = deferred<() => void>()
    const { dial } = await openConnections((request, answer) => arrived.resolve(() => echo(request, answer)))
    const client = await dial()
    client.socket.write(post('long'))
    const go = await arrived.promise
    vi.advanceTimersByTime(100 * TIMEOUTS.nextRequestMs)
    go()
    expect(await client.answers(1)).toEqual([{ whole: 'long' }])
  })

  it('because the server closes stays open until its call is answered', async () => {
    const arrived = deferred<() => void>()
    const { dial, server, connections } = await openConnections((request, answer) =>
      arrived.resolve(() => echo(request, answer)),
    )
    const [idle, busy] = [await dial(), await dial()]
    busy.socket.write(post('late'))
    const go = await arrived.promise
    const closed = once(server, 'close')
    server.close()
    connections.closeIdle()
    await idle.closed
    go()
    expect(await busy.answers(1)).toEqual([{ whole: 'late' }])
    connections.closeAll()
    await Promise.all([busy.closed, closed])
  })
})
