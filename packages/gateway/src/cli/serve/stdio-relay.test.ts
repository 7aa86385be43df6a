import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { type Duplex, PassThrough, Writable } from 'node:stream'
import type { JsonObject } from '@sallyport/core'
import { afterEach, describe, expect, it } from 'vitest'
import { promise } from '../../../../../tests/promises.ts'
import { relayStdio } from './stdio-relay.ts'

type Gateway = (message: { id?: unknown; method?: string }, socket: Socket) => void

const servers: Server[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.close()
    if (server.listening) await once(server, 'close')
  }
})

const reply = (socket: Socket, message: object): void =>
  void socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

/** A gateway that answers everything with what it heard, but for what the given one does first. */
async function openGateway(gateway: Gateway = () => {}) {
  const heard: string[] = []
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on('error', () => socket.destroy())
    socket.once('end', () => socket.end())
    createInterface({ input: socket }).on('line', (text) => {
      heard.push(text)
      const message = JSON.parse(text) as { id?: unknown; method?: string }
      gateway(message, socket)
      if (message.id !== undefined && !socket.destroyed && !socket.writableEnded)
        reply(socket, { id: message.id, result: { heard: heard.length } })
    })
  }).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  const join = async (): Promise<Duplex> => {
    const socket = connect((server.address() as { port: number }).port, '127.0.0.1')
    await once(socket, 'connect')
    return socket
  }
  return { join, heard }
}

function agent(join: () => Promise<Duplex>) {
  const [input, output, stop] = [new PassThrough(), new PassThrough(), new AbortController()]
  const losses: string[] = []
  const done = relayStdio({ input, output, join, onLost: (reason) => losses.push(reason), signal: stop.signal })
  const lines = createInterface({ input: output })[Symbol.asyncIterator]()
  const next = async (): Promise<JsonObject> => JSON.parse((await lines.next()).value as string) as JsonObject
  const say = (message: object): void => void input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  return { input, output, stop, losses, done, next, say }
}

/** Loses its connection upon the first message with this method. */
const dyingOf = (method: string): Gateway => {
  let died = false
  return (message, socket) => {
    if (died || message.method !== method) return
    died = true
    socket.resetAndDestroy()
  }
}

describe(`a window's connection (${promise('GW-27')})`, () => {
  it('relays lines both ways until the agent closes its input, and then the remaining answers', async () => {
    const { join } = await openGateway()
    const { input, done, next, say } = agent(join)
    for (let id = 0; id < 3; id++) say({ id, method: 'ping' })
    input.end()
    for (let id = 0; id < 3; id++) expect((await next()).id).toBe(id)
    await done
  })

  it('survives the gateway: in-flight requests are answered with an error, and the handshake is sent again', async () => {
    const { join, heard } = await openGateway(dyingOf('tools/call'))
    const { input, losses, done, next, say } = agent(join)
    say({ id: 'i', method: 'initialize' })
    expect((await next()).id).toBe('i')
    say({ method: 'notifications/initialized' })
    say({ id: 1, method: 'tools/call' })
    expect(await next()).toMatchObject({ id: 1, error: { message: expect.stringContaining('GATEWAY_UNREACHABLE') } })
    for (let index = 0; index < 3; index++) expect((await next()).method).toMatch(/list_changed$/)
    say({ id: 2, method: 'tools/call' })
    expect(await next()).toMatchObject({ id: 2, result: {} })
    input.end()
    await done
    expect(losses).toHaveLength(1)
    expect(heard.filter((text) => text.includes('"initialize"'))).toHaveLength(2)
  })

  it('gets its handshake answered by the next gateway if the first dies during it', async () => {
    const { join } = await openGateway(dyingOf('initialize'))
    const { input, done, next, say } = agent(join)
    say({ id: 'i', method: 'initialize' })
    expect(await next()).toMatchObject({ id: 'i', result: {} })
    input.end()
    await done
  })

  it('continues if a gateway dies during the repeated handshake', async () => {
    const first = await openGateway(dyingOf('tools/call'))
    const second = await openGateway(dyingOf('initialize'))
    let joined = 0
    const { input, done, next, say } = agent(() => (++joined === 1 ? first.join() : second.join()))
    say({ id: 'i', method: 'initialize' })
    await next()
    say({ id: 1, method: 'tools/call' })
    expect(await next()).toMatchObject({ id: 1, error: {} })
    say({ id: 2, method: 'ping' })
    for (let message = await next(); ; message = await next()) if (message.id === 2) break
    expect(joined).toBe(3)
    input.end()
    await done
  })

  it('sends a line completely to the next gateway if the first died in the middle of it', async () => {
    const { join, heard } = await openGateway(dyingOf('tools/call'))
    const { input, done, next, say } = agent(join)
    say({ id: 1, method: 'tools/call' })
    input.write('{"jsonrpc":"2.0","id":2,')
    expect(await next()).toMatchObject({ id: 1, error: {} })
    input.write('"method":"ping"}\n')
    expect(await next()).toMatchObject({ id: 2, result: {} })
    expect(heard.at(-1)).toBe('{"jsonrpc":"2.0","id":2,"method":"ping"}')
    input.end()
    await done
  })

  it('ends at once when it is aborted', async () => {
    const { join } = await openGateway()
    const { stop, done, next, say } = agent(join)
    say({ id: 1, method: 'ping' })
    await next()
    stop.abort()
    await done
  })

  it('ends without a crash when the agent no longer reads', async () => {
    const { join } = await openGateway()
    const input = new PassThrough()
    const output = new Writable({ write: (_chunk, _encoding, done) => done(new Error('broken pipe')) })
    const done = relayStdio({ input, output, join, onLost: () => {}, signal: new AbortController().signal })
    input.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    await done
  })

  it('fails after too many losses in a row', async () => {
    const { join } = await openGateway((_, socket) => socket.resetAndDestroy())
    const { done, say } = agent(join)
    say({ id: 'i', method: 'initialize' })
    await expect(done).rejects.toThrow('The gateway was lost 6 times in a row.')
  })
})
