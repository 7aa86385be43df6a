import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { McpServer } from '../mcp-server.ts'
import type { Connection } from '../protocol/connection.ts'

type Message = Record<string, any>

/** The requests that reached a server, in order of arrival. */
export interface ReceivedRequest {
  readonly method: string
  readonly params: Message
  readonly authorization: string | undefined
}

/** Answers in place of the server if it returns a status. */
type Interceptor = (arrival: ReceivedRequest, response: ServerResponse) => boolean

interface Session {
  readonly connection: Connection
  readonly waiting: Map<unknown, (message: Message) => void>
}

/** A kit server on loopback that records every request. */
export class RecordingServer {
  readonly received: ReceivedRequest[] = []
  /** Called for requests other than POST. */
  onOtherMethod: (verb: string) => void = () => {}
  /** Does not answer requests other than POST. */
  isSilent = false
  /** The id of the newest request. */
  lastId: unknown
  intercept: Interceptor = () => false
  readonly #server: McpServer
  #url = ''
  readonly #sessions = new Map<string, Session>()
  readonly #http = createServer((request, response) => {
    this.#answer(request, response).catch((error: Error) => response.destroy(error))
  })

  constructor(server: McpServer) {
    this.#server = server
  }

  get url(): string {
    return this.#url
  }

  get sessions(): number {
    return this.#sessions.size
  }

  methods(): string[] {
    return this.received.map(({ method }) => method)
  }

  /** How often a client connected, with a handshake or a probe. */
  countOpenings(): number {
    return this.methods().filter((method) => method === 'initialize').length
  }

  async listen(): Promise<this> {
    this.#http.listen(0, '127.0.0.1')
    await once(this.#http, 'listening')
    this.#url = `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}/mcp`
    return this
  }

  async close(): Promise<void> {
    if (!this.#http.listening) return
    const closed = once(this.#http, 'close')
    this.#http.close()
    this.#http.closeAllConnections()
    await closed
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') {
      this.onOtherMethod(request.method ?? '')
      if (this.isSilent) return
      if (request.method === 'DELETE') this.#sessions.delete(String(request.headers['mcp-session-id']))
      response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
      return
    }
    const message = (await json(request)) as Message
    const { authorization } = request.headers
    const arrival = { method: message.method, params: message.params ?? {}, authorization }
    this.received.push(arrival)
    this.lastId = message.id
    if (this.intercept(arrival, response)) return
    if (message.method === 'subscriptions/listen') {
      this.#stream(message, response)
      return
    }
    const name = message.method === 'initialize' ? randomUUID() : request.headers['mcp-session-id']
    const session = this.#session(name === undefined ? undefined : String(name))
    if (message.id === undefined) {
      session.connection.receive(message)
      response.writeHead(202).end()
      return
    }
    const answered = new Promise<Message>((resolve) => session.waiting.set(message.id, resolve))
    session.connection.receive(message)
    const headers = {
      'content-type': 'application/json',
      ...(name !== undefined && { 'mcp-session-id': String(name) }),
    }
    response.writeHead(200, headers).end(JSON.stringify(await answered))
  }

  #stream(message: Message, response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const connection = this.#server.connect((sent) => response.write(`data: ${JSON.stringify(sent)}\n\n`))
    response.on('close', () => connection.close())
    connection.receive(message)
  }

  #session(name: string | undefined): Session {
    const known = name === undefined ? undefined : this.#sessions.get(name)
    if (known !== undefined) return known
    const waiting = new Map<unknown, (message: Message) => void>()
    const connection = this.#server.connect((message) => waiting.get((message as Message).id)?.(message))
    const session = { connection, waiting }
    if (name !== undefined) this.#sessions.set(name, session)
    return session
  }
}
