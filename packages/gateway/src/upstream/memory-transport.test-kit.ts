import { isJsonObject, type Json, type JsonObject, SallyportError } from '@sallyport/core'
import { FrameReader } from './answers/frame-reader.ts'
import { recheckPermit, usePermit } from './permit.ts'
import type { EncodedRequest, Transport, TransportEvents } from './transport.ts'

export interface ReceivedMessage extends JsonObject {
  readonly id?: number
  readonly method?: string
  readonly params?: JsonObject
}

export interface MemoryTransportOptions {
  /** What the server does with a message; it may answer now, later, wrongly or never. */
  readonly serve?: (message: ReceivedMessage, server: MemoryTransport) => void
  readonly open?: () => Promise<void>
  readonly close?: () => Promise<void>
  /** As over HTTP, where a closed stream notifies the server. */
  readonly abandonTells?: boolean
}

/** A connection whose other end is the test. */
export class MemoryTransport implements Transport {
  readonly received: ReceivedMessage[] = []
  readonly abandoned: number[] = []
  readonly versions: string[] = []
  readonly requests: EncodedRequest[] = []
  closed = 0
  readonly #options: MemoryTransportOptions
  readonly #reader = new FrameReader(64_000_000)
  #events: TransportEvents | undefined
  #waiters: (() => void)[] = []

  constructor(options: MemoryTransportOptions = {}) {
    this.#options = options
  }

  async open(events: TransportEvents): Promise<void> {
    this.#events = events
    await this.#options.open?.()
  }

  request(request: EncodedRequest): void {
    const { id, text, call } = request
    this.requests.push(request)
    if (usePermit(call.permit)) return this.send(text)
    void recheckPermit(call.permit).then((refusal) => {
      if (this.abandoned.includes(id)) return
      if (refusal) this.#events?.onFailure(id, refusal)
      else this.request(request)
    })
  }

  /** The server gets it in a separate turn of the event loop, as over any pipe. */
  send(text: string): void {
    const message = JSON.parse(text) as ReceivedMessage
    this.received.push(message)
    queueMicrotask(() => this.closed === 0 && this.#options.serve?.(message, this))
    const waiters = this.#waiters
    this.#waiters = []
    for (const wake of waiters) wake()
  }

  abandon(id: number): boolean {
    this.abandoned.push(id)
    const isUnsent = !this.received.some((message) => message.id === id)
    return this.#options.abandonTells ?? isUnsent
  }

  setProtocolVersion(version: string): void {
    this.versions.push(version)
  }

  async close(): Promise<void> {
    this.closed++
    await this.#options.close?.()
  }

  /** The server sends a message: any value, or a string as it is. */
  emit(message: Json | object): void {
    if (this.closed > 0) return
    this.#reader.feed(Buffer.from(typeof message === 'string' ? message : JSON.stringify(message)))
    const outcome = this.#reader.finish()
    if (outcome.kind !== 'frame') throw new Error(`The test said ${outcome.kind}.`)
    this.#events?.onFrame(outcome.frame, undefined)
  }

  answer(id: number | undefined, result: Json | object = {}): void {
    this.emit({ jsonrpc: '2.0', id: id ?? null, result })
  }

  refuse(id: number | undefined, code = -32601, message: Json = 'Method not found'): void {
    this.emit({ jsonrpc: '2.0', id: id ?? null, error: { code, message } })
  }

  fail(id: number, error: SallyportError): void {
    this.#events?.onFailure(id, error)
  }

  becomeTooWide(): void {
    this.#events?.onTooWide?.()
  }

  die(reason = 'exited with code 3'): void {
    this.#events?.onClose(reason)
  }

  /** The message number `index` with this method, once the server has received it. */
  async waitForMessage(method: string, index = 0): Promise<ReceivedMessage> {
    for (;;) {
      const message = this.received.filter((one) => one.method === method)[index]
      if (message) return message
      await new Promise<void>((resolve) => this.#waiters.push(resolve))
    }
  }
}

export interface ServerScript {
  readonly era?: 'legacy' | 'modern'
  readonly capabilities?: JsonObject
  readonly tools?: () => readonly Json[]
  /** Answers by method; these take precedence over everything else. `undefined`: no answer. */
  readonly answers?: Readonly<Record<string, (message: ReceivedMessage, server: MemoryTransport) => void>>
}

/** A well-behaved server of either era, except for what the script says. */
export function createServerHandler(
  script: ServerScript = {},
): (message: ReceivedMessage, server: MemoryTransport) => void {
  const { era = 'legacy', capabilities = { tools: {} }, tools = () => [toolNamed('echo')], answers = {} } = script
  const about = { capabilities, serverInfo: { name: 'memory', version: '1' } }
  return (message, server) => {
    const { id, method = '' } = message
    if (id === undefined) return
    if (Object.hasOwn(answers, method)) return answers[method]?.(message, server)
    if (method === 'initialize' && era === 'legacy')
      return server.answer(id, { protocolVersion: '2025-11-25', ...about })
    if (method === 'server/discover' && era === 'modern')
      return server.answer(id, { supportedVersions: ['2026-07-28'], ...about })
    if (method === 'tools/list') return server.answer(id, { tools: tools() })
    if (method === 'tools/call') return server.answer(id, { content: [{ type: 'text', text: textOf(message) }] })
    if (method === 'subscriptions/listen') return
    server.refuse(id)
  }
}

export const toolNamed = (name: string): JsonObject => ({ name, inputSchema: { type: 'object' } })

const textOf = ({ params }: ReceivedMessage): string =>
  JSON.stringify(isJsonObject(params) ? (params.arguments ?? {}) : {})

/** The code of the error that a promise is rejected with. */
export async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'no error',
    (error: unknown) => (error instanceof SallyportError ? error.code : `not an expected error: ${String(error)}`),
  )
}
