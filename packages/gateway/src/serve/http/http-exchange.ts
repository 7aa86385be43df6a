import type { IncomingMessage, ServerResponse } from 'node:http'
import { Cancellation, type JsonObject, type SallyportError } from '@sallyport/core'
import type { SessionStreams } from '../legacy/session-streams.ts'
import type { Reply } from '../rpc/client-request.ts'
import type { LongCall } from '../rpc/long-calls.ts'
import { errorMessage, notificationMessage } from '../rpc/wire-message.ts'
import { type EventStream, eventKindOf, openPlainStream, singleEvent } from './event-stream.ts'
import type { ResponseWriter } from './response-writer.ts'

/** The parts of a request that MCP needs, whichever parser read it. */
export type HttpRequest = Pick<IncomingMessage, 'method' | 'headers'>

/** Where the stream of a legacy call can be resumed. */
export interface Resumption {
  readonly streams: SessionStreams
  readonly requestId: string | number
}

/** One POST and its answer: plain JSON, or an event stream if something is sent before the answer or the client prefers streams. */
export class HttpExchange implements LongCall {
  readonly cancellation = new Cancellation()
  index = -1
  readonly #request: HttpRequest
  readonly #answer: ResponseWriter
  readonly #resumption: Resumption | undefined
  #stream: EventStream | undefined

  constructor(request: HttpRequest, answer: ResponseWriter, resumption?: Resumption) {
    this.#request = request
    this.#answer = answer
    this.#resumption = resumption
  }

  /** The connection for the answer. After a resumption it is no longer the connection of the POST. */
  get connection(): ServerResponse | undefined {
    return this.#stream ? this.#stream.connection : this.#answer.response
  }

  /** Whether the answer can still reach the client over the current connection. */
  get isAwaited(): boolean {
    return this.#stream ? this.#stream.connection?.destroyed === false : !this.#answer.isDisconnected
  }

  /** In the modern era, closing the stream cancels the call; in the legacy era it does not. */
  cancelOnClose(): void {
    this.#answer.onDisconnect(() => this.cancellation.cancel('the client closed the stream'))
  }

  /** Sends a notification, or a request that the client will answer. Returns false if it cannot reach the client before the answer. */
  notify(message: JsonObject): boolean {
    this.#stream ??= this.#openStream()
    return this.#stream?.send(notificationMessage(message), eventKindOf(message)) ?? false
  }

  /** Opens the stream before there is a message, if the client explicitly accepts streams. Others may expect plain JSON for a call without progress. */
  beginStream(): void {
    if (/text\/event-stream/.test(this.#request.headers.accept ?? '')) this.#stream ??= this.#openStream()
  }

  reply({ message, status }: Reply, headers?: Readonly<Record<string, string>>): void {
    // An error of the transport has its own status, so it stays JSON.
    const isEvent = status === 200 && prefersStream(this.#request)
    if (isEvent && this.#resumption) this.#stream ??= this.#openStream()
    if (this.#stream) return this.#stream.finish(message)
    // A stream that cannot be resumed costs no more than JSON if it is written at once.
    if (isEvent) return this.#answer.send({ message: singleEvent(message), status }, headers, 'text/event-stream')
    this.#answer.send({ message, status }, headers)
  }

  #openStream(): EventStream | undefined {
    if (this.#answer.isSpent || !acceptsStream(this.#request)) return undefined
    const response = this.#answer.open()
    if (!this.#resumption) return openPlainStream(response)
    return this.#resumption.streams.open(response, this.#resumption.requestId)
  }
}

/** Sends an error of the transport, with the HTTP status of its kind. */
export function sendRefusal(answer: ResponseWriter, error: SallyportError, details: RefusalDetails = {}): void {
  const rpc = { code: error.kind.rpc, message: error.text, data: { code: error.code, ...details.data } }
  answer.send({ message: errorMessage(details.id, rpc), status: error.kind.http }, details.headers)
}

export interface RefusalDetails {
  readonly id?: string | number | null | undefined
  readonly data?: JsonObject
  readonly headers?: Readonly<Record<string, string>>
}

export function acceptsStream(request: HttpRequest): boolean {
  const { accept } = request.headers
  return accept === undefined || /text\/event-stream|text\/\*|\*\/\*/.test(accept)
}

/** Whether a client names streams before JSON, or does not accept JSON at all. */
function prefersStream(request: HttpRequest): boolean {
  const { accept } = request.headers
  // The value that the SDKs send, and so nearly every client.
  if (accept === undefined || accept === 'application/json, text/event-stream') return false
  const stream = accept.indexOf('text/event-stream')
  if (stream === -1) return false
  return !acceptsJson(request) || stream < accept.indexOf('application/json')
}

export function acceptsJson(request: HttpRequest): boolean {
  const { accept } = request.headers
  return accept === undefined || /application\/json|application\/\*|\*\/\*/.test(accept)
}
