import { SallyportError } from '@sallyport/core'
import type { Connection, McpServer } from '@sallyport/kit'
import { FrameReader } from '../frame-reader.ts'
import type { OutgoingRequest, Transport, TransportEvents } from '../transport.ts'

export interface InProcessOptions {
  readonly server: McpServer
  readonly maxMessageBytes: number
}

/** A server in our own process, spoken to in JSON text: nothing downstream can tell it from one behind a pipe. */
export class InProcessTransport implements Transport {
  readonly #server: McpServer
  readonly #maxMessageBytes: number
  readonly #reader: FrameReader
  #connection: Connection | undefined

  constructor({ server, maxMessageBytes }: InProcessOptions) {
    this.#server = server
    this.#maxMessageBytes = maxMessageBytes
    this.#reader = new FrameReader(maxMessageBytes)
  }

  async open(events: TransportEvents): Promise<void> {
    this.#connection = this.#server.connect((message) => this.#deliver(message, events))
  }

  request({ text }: OutgoingRequest): void {
    this.send(text)
  }

  /** In a turn of its own: an answer must not overtake the return of the call that asked. */
  send(text: string): void {
    queueMicrotask(() => this.#connection?.receive(JSON.parse(text)))
  }

  abandon(): boolean {
    return false
  }

  agreed(): void {}

  async close(): Promise<void> {
    const connection = this.#connection
    this.#connection = undefined
    connection?.close()
  }

  #deliver(message: object, events: TransportEvents): void {
    const text = JSON.stringify(message)
    if (this.#connection === undefined) return
    this.#reader.feed(Buffer.from(text))
    const outcome = this.#reader.finish()
    if (outcome.kind === 'frame') events.onFrame(outcome.frame, undefined)
    else if ('id' in message && typeof message.id === 'number')
      events.onFailure(message.id, this.#refusal(outcome.kind))
    else events.onTrouble(`A notification of the built-in server was dropped (${outcome.kind}).`)
  }

  #refusal(kind: string): SallyportError {
    if (kind !== 'oversized')
      return new SallyportError('UPSTREAM_PROTOCOL', 'The answer is nested too deeply to be passed on.')
    return new SallyportError('UPSTREAM_TOO_LARGE', `The answer is over the limit of ${this.#maxMessageBytes} bytes.`, {
      hint: 'Ask for a smaller part of it.',
    })
  }
}
