import type { IncomingMessage, ServerResponse } from 'node:http'
import { Cancellation, type JsonObject, SallyportError } from '@sallyport/core'
import type { Reply } from './client-request.ts'
import { beginEventStream, writeEvent } from './event-stream.ts'
import { errorMessage, messageBytes, notificationMessage, type WireMessage } from './wire-message.ts'

/** One POST and its answer: plain JSON, or an event stream as soon as there is something to say before the answer. */
export class HttpExchange {
  readonly cancellation = new Cancellation()
  readonly response: ServerResponse
  readonly #request: IncomingMessage
  #streaming = false

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request
    this.response = response
  }

  /** In the modern era a closed stream is the cancellation; in the legacy era it means nothing. */
  cancelOnClose(): void {
    this.response.once('close', () => {
      if (!this.response.writableFinished) this.cancellation.cancel('the client closed the stream')
    })
  }

  /** False when it cannot reach the client before the answer. */
  notify(notification: JsonObject): boolean {
    if (this.response.destroyed || this.response.writableEnded) return false
    if (!this.#streaming) {
      if (!acceptsStream(this.#request)) return false
      this.#streaming = true
      beginEventStream(this.response)
    }
    writeEvent(this.response, notificationMessage(notification))
    return true
  }

  reply({ message, status }: Reply, headers?: Readonly<Record<string, string>>): void {
    if (this.response.destroyed) return
    if (!this.#streaming) return sendMessage(this.response, { message, status }, headers)
    writeEvent(this.response, message, 'answer')
    this.response.end()
  }
}

export function sendMessage(
  response: ServerResponse,
  { message, status }: Reply,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return
  const bytes = messageBytes(message)
  response.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes, ...headers })
  writePieces(response, message, bytes)
}

/** Below this one copy is cheaper than several writes. */
const ONE_WRITE = 16_384

/** Node sends a text together with the head in one write; buffers it does not join. */
function writePieces(response: ServerResponse, message: WireMessage, bytes: number): void {
  if (bytes <= ONE_WRITE) {
    response.end(message.map(asLatin1).join(''), 'latin1')
    return
  }
  response.cork()
  for (const piece of message) response.write(piece)
  response.end()
  response.uncork()
}

/** The bytes of a piece, one character each. */
function asLatin1(piece: string | Buffer): string {
  return (typeof piece === 'string' ? Buffer.from(piece) : piece).toString('latin1')
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

/** The whole body, or a refusal once it is known to be too large. */
export function readBody(request: IncomingMessage, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const cutOff = (): void =>
      reject(new SallyportError('INVALID_REQUEST', 'The connection closed before the whole body came.'))
    // Whoever left while the credentials were looked at will not say so again.
    if (request.destroyed && !request.complete) return cutOff()
    if (Number(request.headers['content-length'] ?? 0) > limit) return reject(tooLarge(limit))
    const chunks: Buffer[] = []
    let bytes = 0
    const take = (chunk: Buffer): void => {
      bytes += chunk.length
      if (bytes <= limit) return void chunks.push(chunk)
      request.off('data', take)
      chunks.length = 0
      reject(tooLarge(limit))
    }
    request.on('data', take)
    request.once('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
    // A client that went away or stopped speaking HTTP is no bug of ours.
    request.once('error', cutOff)
    request.once('close', () => {
      if (!request.complete) cutOff()
    })
  })
}

const tooLarge = (limit: number): SallyportError =>
  new SallyportError('BODY_TOO_LARGE', `The body is larger than ${limit} bytes.`, {
    hint: 'Raise gateway.max_body if it has to be.',
  })

/** So long a client that was refused may go on sending its body. */
const PATIENCE = 1_000

/** Reads past the rest of a body: hanging up while it comes would reset the connection, and the answer with it. */
function passOver(request: IncomingMessage): void {
  request.resume()
  const timer = setTimeout(() => request.complete || request.destroy(), PATIENCE).unref()
  request.once('close', () => clearTimeout(timer))
}
