import type { IncomingMessage, ServerResponse } from 'node:http'
import { Cancellation, type JsonObject, type SallyportError } from '@sallyport/core'
import type { SessionStreams } from '../legacy/session-streams.ts'
import type { Reply } from '../rpc/client-request.ts'
import type { LongCall } from '../rpc/long-calls.ts'
import { errorMessage, notificationMessage } from '../rpc/wire-message.ts'
import { type EventStream, eventKindOf, openPlainStream } from './event-stream.ts'
import type { ResponseWriter } from './response-writer.ts'

/** What the MCP path looks at of a request, whoever read it. */
export type HttpRequest = Pick<IncomingMessage, 'method' | 'headers'>

/** Where a call of the legacy era can be resumed. */
export interface Resumption {
  readonly streams: SessionStreams
  readonly requestId: string | number
}

/** One POST and its answer: plain JSON, or an event stream as soon as there is something to say before the answer. */
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

  /** What the answer goes over: not the POST's own connection any more once the call was resumed on another. */
  get connection(): ServerResponse | undefined {
    return this.#stream ? this.#stream.connection : this.#answer.response
  }

  /** Whether anybody can still get the answer over what it goes over now. */
  get isAwaited(): boolean {
    return this.#stream ? this.#stream.connection?.destroyed === false : !this.#answer.isDisconnected
  }

  /** In the modern era a closed stream is the cancellation; in the legacy era it means nothing. */
  cancelOnClose(): void {
    this.#answer.onDisconnect(() => this.cancellation.cancel('the client closed the stream'))
  }

  /** A notification, or a request that the client will answer. False when it cannot reach the client before the answer. */
  notify(message: JsonObject): boolean {
    this.#stream ??= this.#openStream()
    return this.#stream?.send(notificationMessage(message), eventKindOf(message)) ?? false
  }

  /** Becomes a stream with nothing to say yet, unless the client might expect none: a call without progress has been JSON so far. */
  beginStream(): void {
    if (/text\/event-stream/.test(this.#request.headers.accept ?? '')) this.#stream ??= this.#openStream()
  }

  reply({ message, status }: Reply, headers?: Readonly<Record<string, string>>): void {
    if (this.#stream) return this.#stream.finish(message)
    this.#answer.send({ message, status }, headers)
  }

  #openStream(): EventStream | undefined {
    if (this.#answer.isSpent || !acceptsStream(this.#request)) return undefined
    const response = this.#answer.open()
    if (!this.#resumption) return openPlainStream(response)
    return this.#resumption.streams.open(response, this.#resumption.requestId)
  }
}

/** A refusal that concerns the transport: it has the status that the error's kind names. */
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

export function acceptsJson(request: HttpRequest): boolean {
  const { accept } = request.headers
  return accept === undefined || /application\/json|application\/\*|\*\/\*/.test(accept)
}
