import type { IncomingMessage, ServerResponse } from 'node:http'
import { Cancellation, type JsonObject, SallyportError } from '@sallyport/core'
import type { Reply } from './client-request.ts'
import { beginEventStream, writeEvent } from './event-stream.ts'
import { errorMessage, messageBytes, notificationMessage, type WireMessage } from './wire-message.ts'

/** One POST and its answer: plain JSON, or an event stream as soon as there is something to say before the answer. */
export class HttpExchange {
  readonly cancellation = new Cancellation()
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  #streaming = false

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request
    this.#response = response
  }

  /** In the modern era a closed stream is the cancellation; in the legacy era it means nothing. */
  cancelOnClose(): void {
    this.#response.once('close', () => {
      if (!this.#response.writableFinished) this.cancellation.cancel('the client closed the stream')
    })
  }

  notify(notification: JsonObject): void {
    if (!this.#streaming) {
      if (!acceptsStream(this.#request)) return
      this.#streaming = true
      beginEventStream(this.#response)
    }
    writeEvent(this.#response, notificationMessage(notification))
  }

  reply({ message, status }: Reply, headers?: Readonly<Record<string, string>>): void {
    if (this.#response.destroyed) return
    if (!this.#streaming) return sendMessage(this.#response, { message, status }, headers)
    writeEvent(this.#response, message, 'answer')
    this.#response.end()
  }
}

export function sendMessage(
  response: ServerResponse,
  { message, status }: Reply,
  headers: Readonly<Record<string, string>> = {},
): void {
  if (response.headersSent || response.destroyed) return
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': messageBytes(message),
    ...headers,
  })
  writePieces(response, message)
}

function writePieces(response: ServerResponse, message: WireMessage): void {
  if (message.length === 1) {
    response.end(message[0])
    return
  }
  response.cork()
  for (const piece of message) response.write(piece)
  response.end()
  response.uncork()
}

/** A refusal that concerns the transport: it has the status that the error's kind names. */
export function sendRefusal(response: ServerResponse, error: SallyportError, details: RefusalDetails = {}): void {
  const rpc = { code: error.kind.rpc, message: error.text, data: { code: error.code, ...details.data } }
  sendMessage(response, { message: errorMessage(details.id, rpc), status: error.kind.http }, details.headers)
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
  const tooLarge = new SallyportError('BODY_TOO_LARGE', `The body is larger than ${limit} bytes.`, {
    hint: 'Raise gateway.max_body if it has to be.',
  })
  return new Promise((resolve, reject) => {
    if (Number(request.headers['content-length'] ?? 0) > limit) return reject(tooLarge)
    const chunks: Buffer[] = []
    let bytes = 0
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > limit) {
        request.pause()
        reject(tooLarge)
      } else chunks.push(chunk)
    })
    request.once('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)))
    request.once('error', reject)
    request.once('close', () =>
      reject(new SallyportError('INVALID_REQUEST', 'The connection closed before the whole body came.')),
    )
  })
}
