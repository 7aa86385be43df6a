import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { deferred } from '../deferred.test-kit.ts'
import { ResumableStream } from '../legacy/resumable-stream.ts'
import { resultMessage } from '../rpc/wire-message.ts'
import { echo, openConnections, post } from './http-connections.test-kit.ts'
import type { ResponseWriter } from './response-writer.ts'

const listenersOf = (socket: Socket) =>
  Object.fromEntries(socket.eventNames().map((name) => [String(name), socket.listenerCount(name)]))

function stream(answer: ResponseWriter): ServerResponse {
  const response = answer.open()
  response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: {"node":1}\n\n')
  return response
}

describe(`the answer to a request that arrived in one piece (${promise('GW-23')})`, () => {
  it('contains how long the connection is kept open, like node:http', async () => {
    const { dial } = await openConnections((request, answer) => {
      if (request.body.toString() === 'plain') echo(request, answer)
      else stream(answer).end()
    })
    const client = await dial()
    for (const [at, body] of ['plain', 'stream'].entries()) {
      client.socket.write(post(body))
      await client.answers(at + 1)
    }
    expect(client.text.match(/\r\nkeep-alive: timeout=120\r\n/gi)).toHaveLength(2)
  })

  it('may be one complete message, even if a stream was prepared', async () => {
    const events: string[] = []
    const { dial } = await openConnections((request, answer) => {
      const response = answer.open().on('finish', () => events.push('finish'))
      response.on('close', () => events.push('close'))
      echo(request, answer)
    })
    const client = await dial()
    for (const time of [1, 2]) {
      client.socket.write(post(`${time}`))
      await client.answers(time)
    }
    expect(await client.answers(2)).toEqual([{ whole: '1' }, { whole: '2' }])
    await expect.poll(() => events).toEqual(['finish', 'close', 'finish', 'close'])
  })

  it('emits `finish` to all listeners before `close`', async () => {
    const events: string[] = []
    const closed = deferred<ServerResponse>()
    const { dial } = await openConnections((_request, answer) => {
      const response = stream(answer)
      response.on('close', () => events.push('close')).on('finish', () => events.push('finish'))
      response.on('close', () => closed.resolve(response))
      response.end()
    })
    const client = await dial()
    client.socket.write(post('x'))
    expect((await closed.promise).destroyed).toBe(true)
    client.socket.destroy()
    await client.closed
    expect(events).toEqual(['finish', 'close'])
  })

  it('that can be resumed is marked as delivered', async () => {
    const last = resultMessage(1, {})
    const resumable = new ResumableStream({
      name: 'a',
      sendsPrimingEvent: true,
      now: () => 0,
      onBytesChange: () => {},
      lost: () => last,
    })
    const { dial } = await openConnections((_request, answer) => {
      resumable.connect(answer.open(), 0)
      resumable.finish(last)
    })
    const client = await dial()
    client.socket.write(post('x'))
    await client.answers(1)
    await expect.poll(() => resumable.connection).toBeUndefined()
    expect(resumable.isDelivered).toBe(true)
  })

  it('emits a timeout if the client reads nothing for a while, and leaves no timeout behind', async () => {
    const late = deferred<ServerResponse>()
    const { dialBoth } = await openConnections((_request, answer) => {
      const response = stream(answer)
      response.setTimeout(5, () => late.resolve(response))
    })
    const { client, served } = await dialBoth()
    client.socket.write(post('x'))
    const response = await late.promise
    response.end()
    await expect.poll(() => response.destroyed).toBe(true)
    expect(served.timeout).toBe(0)
  })

  it('leaves no listeners on the connection, however many answers there are', async () => {
    const { dialBoth } = await openConnections((request, answer) => {
      if (request.body.toString() === 'plain') echo(request, answer)
      else stream(answer).end()
    })
    const { client, served } = await dialBoth()
    client.socket.write(post('plain'))
    await client.answers(1)
    const before = listenersOf(served)
    for (let time = 2; time <= 30; time++) {
      client.socket.write(post(time % 2 ? 'plain' : 'stream'))
      await client.answers(time)
    }
    await expect.poll(() => listenersOf(served)).toEqual(before)
  })

  it('is not sent over a connection that was ended', async () => {
    const answered = deferred<ResponseWriter>()
    const { dialBoth } = await openConnections((_request, answer) => answered.resolve(answer))
    const { client, served } = await dialBoth()
    client.socket.write(post('x'))
    const answer = await answered.promise
    served.end()
    expect(answer.isSpent).toBe(true)
    answer.send({ message: resultMessage(1, {}), status: 200 })
    await client.closed
    expect(client.text).toBe('')
  })
})
