import { once } from 'node:events'
import type { Socket } from 'node:net'
import { describe, expect, it, vi } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { deferred } from '../deferred.test-kit.ts'
import { resultMessage } from '../rpc/wire-message.ts'
import { echo, openConnections, post, type TestClient, TIMEOUTS } from './http-connections.test-kit.ts'

const TEXT = 'x'.repeat(30_000)

/** A client that sends requests without reading, until the server stops reading or the limit is reached. */
async function openUnread() {
  let asked = 0
  const { connections, dialBoth } = await openConnections((_request, answer) => {
    asked++
    answer.send({ message: resultMessage(asked, { text: TEXT }), status: 200 })
  })
  const { client, served } = await dialBoth()
  client.socket.pause()
  let sent = 0
  while (sent < 1_000 && asked === sent) {
    sent++
    client.socket.write(post('x'))
    await expect.poll(() => asked === sent || isWaiting(served), { interval: 1 }).toBe(true)
  }
  return { client, served, connections, sent, asked: () => asked }
}

const isWaiting = (socket: Socket): boolean => socket.isPaused() && socket.writableLength > 0

describe(`a client that does not read its answers (${promise('GW-21')})`, () => {
  it('is not read from until it does', async () => {
    const { client, served, sent, asked } = await openUnread()
    expect(served.writableLength).toBeLessThan(4 * TEXT.length)
    expect(asked()).toBeLessThan(sent)
    client.socket.resume()
    expect(await client.answers(sent)).toHaveLength(sent)
  })

  it('is disconnected if it reads nothing until the idle timeout', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { served } = await openUnread()
    const closed = once(served, 'close')
    const listeners = served.listenerCount('finish')
    vi.advanceTimersByTime(TIMEOUTS.nextRequestMs + TIMEOUTS.checkIntervalMs)
    expect(served.listenerCount('finish')).toBeLessThanOrEqual(listeners + 1)
    vi.advanceTimersByTime(TIMEOUTS.checkIntervalMs)
    await closed
  })

  it('may disconnect', async () => {
    const { client, served } = await openUnread()
    const closed = new Promise((resolve) => served.once('close', resolve))
    client.socket.resetAndDestroy()
    await closed
  })
})

describe('a connection that was ended', () => {
  it('handles no more requests, because nobody would get the answers', async () => {
    const asked: string[] = []
    const { connections, dialBoth } = await openConnections((request, answer) => {
      asked.push(request.body.toString())
      echo(request, answer)
    })
    const { client, served } = await dialBoth()
    client.socket.write(post('in time'))
    await client.answers(1)
    connections.closeIdle()
    served.emit('data', Buffer.from(post('too late')))
    await client.closed
    expect(asked).toEqual(['in time'])
  })
})

describe('what arrives before the current answer is sent', () => {
  async function openBusy() {
    const arrived = deferred<() => void>()
    const { dialBoth } = await openConnections((request, answer) => {
      if (request.body.toString() === 'first') arrived.resolve(() => echo(request, answer))
      else echo(request, answer)
    })
    const { client, served } = await dialBoth()
    client.socket.write(post('first'))
    return { client, served, go: await arrived.promise }
  }

  const seen = async (client: TestClient, served: Socket, text: string): Promise<void> => {
    const before = served.bytesRead
    client.socket.write(text)
    await expect.poll(() => served.bytesRead - before).toBe(text.length)
  }

  it.each([
    ['an empty line before it', `\r\n${post('second')}`, 'second'],
    ['many of them', `${'\r\n'.repeat(20)}${post('second')}`, 'second'],
    ['a long verb', 'M-SEARCH /x HTTP/1.1\r\nhost: x\r\n\r\n', ''],
    ['a longer one', 'UNSUBSCRIBE /x HTTP/1.1\r\nhost: x\r\n\r\n', ''],
  ])('may be a request with %s', async (_what, text, body) => {
    const { client, served, go } = await openBusy()
    await seen(client, served, text)
    go()
    expect(await client.answers(2)).toEqual([{ whole: 'first' }, { node: body }])
  })

  it.each([
    ['another protocol', '\x16\x03\x01\x02'],
    ['not a request', '{"jsonrpc":"2.0"}'],
  ])('ends the connection if it is %s', async (_what, text) => {
    const { client } = await openBusy()
    client.socket.write(text, 'latin1')
    await client.closed
    expect(client.text).toBe('')
  })
})
