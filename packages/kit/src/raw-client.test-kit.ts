import { EventEmitter, once } from 'node:events'
import type { JsonObject } from '@sallyport/core'
import type { Identity } from './identity/identity.ts'
import type { McpServer } from './mcp-server.ts'
import type { Connection } from './protocol/connection.ts'

export type Message = Record<string, any>

export const MODERN_META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** A peer that sends raw messages and collects all received ones, serialized as on the wire. */
export class RawClient {
  readonly received: Message[] = []
  readonly connection: Connection
  readonly #arrivals = new EventEmitter()
  #lastId = 0

  constructor(server: McpServer, identity?: Identity) {
    this.#arrivals.setMaxListeners(0)
    this.connection = server.connect((message) => {
      this.received.push(JSON.parse(JSON.stringify(message)))
      this.#arrivals.emit('message')
    }, identity && { identity })
  }

  async initialize(protocolVersion = '2025-11-25'): Promise<Message> {
    const answer = await this.request('initialize', { protocolVersion, capabilities: {}, clientInfo: {} })
    this.notify('notifications/initialized')
    return answer
  }

  send(message: unknown): void {
    this.connection.receive(message)
  }

  notify(method: string, params: JsonObject = {}): void {
    this.send({ jsonrpc: '2.0', method, params })
  }

  /** Sends a request and returns its id at once. */
  start(method: string, params: JsonObject = {}): number {
    const id = ++this.#lastId
    this.send({ jsonrpc: '2.0', id, method, params })
    return id
  }

  request(method: string, params: JsonObject = {}): Promise<Message> {
    return this.waitForAnswer(this.start(method, params))
  }

  requestModern(method: string, params: JsonObject = {}): Promise<Message> {
    return this.request(method, { ...params, _meta: { ...MODERN_META, ...(params._meta as JsonObject | undefined) } })
  }

  waitForAnswer(id: number | null): Promise<Message> {
    return this.waitForMessage((message) => message.id === id && message.method === undefined)
  }

  waitForNotification(method: string): Promise<Message> {
    return this.waitForMessage((message) => message.method === method)
  }

  async waitForMessage(matches: (message: Message) => boolean): Promise<Message> {
    for (;;) {
      const found = this.received.find(matches)
      if (found !== undefined) return found
      await once(this.#arrivals, 'message')
    }
  }
}
