import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { readBody } from '@sallyport/kit/http-intake'
import { afterEach, vi } from 'vitest'
import { resultMessage } from '../rpc/wire-message.ts'
import type { FastRequest } from './fast-request-parser.ts'
import { HttpConnections } from './http-connections.ts'
import type { ResponseWriter } from './response-writer.ts'

export const TIMEOUTS = { firstRequestMs: 15_000, nextRequestMs: 120_000, checkIntervalMs: 5_000 }

const closers: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const close of closers.splice(0).reverse()) await close()
})

type OnRequest = (request: FastRequest, answer: ResponseWriter) => void

export const echo: OnRequest = (request, answer) =>
  answer.send({ message: resultMessage(1, { whole: request.body.toString() }), status: 200 })

/** Requests that do not arrive in one piece are answered by node:http, with a member `node`. */
export async function openConnections(onRequest: OnRequest = echo) {
  const server: Server = createServer(async (request, response) => {
    const body = await readBody(request, { limit: 1e7, hint: '' })
    response.end(JSON.stringify({ node: body.length > 100 ? body.length : body.toString() }))
  })
  const connections = new HttpConnections(server, TIMEOUTS, onRequest)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closers.push(async () => {
    if (!server.listening) return
    server.close()
    server.closeAllConnections()
    connections.closeIdle()
    connections.closeAll()
    await once(server, 'close')
  })
  const dial = async (): Promise<TestClient> => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').on('error', () => {})
    await once(socket, 'connect')
    closers.push(() => socket.destroy())
    return new TestClient(socket)
  }
  /** Also returns the server's end of the connection. */
  const dialBoth = async () => {
    const accepted = once(server, 'connection') as Promise<[Socket]>
    const client = await dial()
    return { client, served: (await accepted)[0] }
  }
  return { server, connections, dial, dialBoth }
}

export class TestClient {
  readonly socket: Socket
  readonly closed: Promise<unknown>
  text = ''

  constructor(socket: Socket) {
    this.socket = socket.setNoDelay(true)
    this.closed = once(socket, 'close')
    socket.on('data', (chunk: Buffer) => {
      this.text += chunk.toString('latin1')
    })
  }

  /** Waits for this many answers and returns their bodies, in order. */
  async answers(count: number): Promise<readonly unknown[]> {
    while (this.#bodies().length < count) await once(this.socket, 'data')
    return this.#bodies()
  }

  #bodies(): unknown[] {
    return [...this.text.matchAll(/\{"(?:jsonrpc|node).*\}/g)].map(
      ([body]) => JSON.parse(body).result ?? JSON.parse(body),
    )
  }
}

export const post = (body: string, extra = ''): string =>
  `POST /mcp HTTP/1.1\r\nhost: x\r\n${extra}content-length: ${body.length}\r\n\r\n${body}`
