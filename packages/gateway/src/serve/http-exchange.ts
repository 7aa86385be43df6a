import type { IncomingMessage, ServerResponse } from 'node:http'
import { Cancellation, type JsonObject, type SallyportError } from '@sallyport/core'
import type { Reply } from './client-request.ts'
import { type EventStream, openPlainStream, weightOf } from './event-stream.ts'
import type { LongCall } from './long-calls.ts'
import type { SessionStreams } from './session-streams.ts'
import { errorMessage, messageBytes, notificationMessage, type WireMessage } from './wire-message.ts'

/** Where a call of the legacy era can be resumed. */
export interface Resumption {
  readonly streams: SessionStreams
  readonly requestId: string | number
}

/** One POST and its answer: plain JSON, or an event stream as soon as there is something to say before the answer. */
export class HttpExchange implements LongCall {
  readonly cancellation = new Cancellation()
  readonly response: ServerResponse
  place = -1
  readonly #request: IncomingMessage
  readonly #resumption: Resumption | undefined
  #stream: EventStream | undefined

  constructor(request: IncomingMessage, response: ServerResponse, resumption?: Resumption) {
    this.#request = request
    this.response = response
    this.#resumption = resumption
  }

  /** What the answer goes over: not the POST's own connection any more once the call was resumed on another. */
  get connection(): ServerResponse | undefined {
    return this.#stream ? this.#stream.connection : this.response
  }

  /** In the modern era a closed stream is the cancellation; in the legacy era it means nothing. */
  cancelOnClose(): void {
    // It happens once; `once` would make an object more for every call.
    this.response.on('close', () => {
      if (!this.response.writableFinished) this.cancellation.cancel('the client closed the stream')
    })
  }

  /** A notification, or a request that the client will answer. False when it cannot reach the client before the answer. */
  notify(message: JsonObject): boolean {
    this.#stream ??= this.#openStream()
    return this.#stream?.send(notificationMessage(message), weightOf(message)) ?? false
  }

  /** Becomes a stream with nothing to say yet, unless the client might expect none: a call without progress has been JSON so far. */
  beginStream(): void {
    if (/text\/event-stream/.test(this.#request.headers.accept ?? '')) this.#stream ??= this.#openStream()
  }

  reply({ message, status }: Reply, headers?: Readonly<Record<string, string>>): void {
    if (this.#stream) return this.#stream.finish(message)
    sendMessage(this.response, { message, status }, headers)
  }

  #openStream(): EventStream | undefined {
    const { response } = this
    if (response.destroyed || response.headersSent || !acceptsStream(this.#request)) return undefined
    if (!this.#resumption) return openPlainStream(response)
    return this.#resumption.streams.open(response, this.#resumption.requestId)
  }
}

export function sendMessage(
  response: ServerResponse,
  { message, status }: Reply,
  headers?: Readonly<Record<string, string>>,
): void {
  if (response.headersSent || response.destroyed) return
  const length = String(messageBytes(message))
  // A list is written as it is; an object would be made into one first.
  const head = ['content-type', 'application/json', 'content-length', length]
  for (const name in headers) head.push(name, headers[name] as string)
  response.writeHead(status, head)
  writePieces(response, message)
}

/** A shorter piece is cheaper to copy than to write by itself. */
const WORTH_WRITING = 256

/** Node sends a text together with the head, and what follows in the same system call: ending uncorks. */
function writePieces(response: ServerResponse, message: WireMessage): void {
  response.cork()
  let text = ''
  for (const piece of message) {
    if (piece.length < WORTH_WRITING) {
      text += asLatin1(piece)
      continue
    }
    if (text !== '') response.write(text, 'latin1')
    text = ''
    response.write(piece)
  }
  response.end(text, 'latin1')
}

/** The bytes of a piece, one character each. */
function asLatin1(piece: string | Buffer): string {
  if (typeof piece !== 'string') return piece.toString('latin1')
  // Most are an id between two of our own words.
  return Buffer.byteLength(piece) === piece.length ? piece : Buffer.from(piece).toString('latin1')
}

/** A refusal that concerns the transport: it has the status that the error's kind names. */
export function sendRefusal(response: ServerResponse, error: SallyportError, details: RefusalDetails = {}): void {
  const rpc = { code: error.kind.rpc, message: error.text, data: { code: error.code, ...details.data } }
  sendMessage(response, { message: errorMessage(details.id, rpc), status: error.kind.http }, details.headers)
  if (!response.req.complete) passOver(response.req)
}

export interface RefusalDetails {
  readonly id?: string | number | null | undefined
  readonly data?: JsonObject
  readonly headers?: Readonly<Record<string, string>>
}

export function acceptsStream(request: IncomingMessage): boolean {
  const { accept } = request.headers
  return accept === undefined || /text\/event-stream|text\/\*|\*\/\*/.test(accept)
}

export function acceptsJson(request: IncomingMessage): boolean {
  const { accept } = request.headers
  return accept === undefined || /application\/json|application\/\*|\*\/\*/.test(accept)
}

/** So long a client that was refused may go on sending its body. */
const PATIENCE = 1_000

/** Reads past the rest of a body: hanging up while it comes would reset the connection, and the answer with it. */
function passOver(request: IncomingMessage): void {
  request.resume()
  const timer = setTimeout(() => request.complete || request.destroy(), PATIENCE).unref()
  request.once('close', () => clearTimeout(timer))
}
