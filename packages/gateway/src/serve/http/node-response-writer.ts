import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Reply } from '../rpc/client-request.ts'
import { asLatin1, messageBytes, type WireMessage } from '../rpc/wire-message.ts'
import type { AnswerType, ResponseWriter } from './response-writer.ts'

/** The answer to a request that node:http read. */
export class NodeResponseWriter implements ResponseWriter {
  readonly response: ServerResponse
  readonly #request: IncomingMessage

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request
    this.response = response
  }

  get address(): string | undefined {
    return this.#request.socket.remoteAddress
  }

  get isDisconnected(): boolean {
    return this.response.destroyed
  }

  get isSpent(): boolean {
    return this.response.headersSent || this.response.destroyed
  }

  send(reply: Reply, headers?: Readonly<Record<string, string>>, type: AnswerType = 'application/json'): void {
    if (this.isSpent) return
    sendReply(this.response, reply, { ...headers, 'content-type': type })
    if (!this.#request.complete) drainBody(this.#request)
  }

  open(): ServerResponse {
    return this.response
  }

  onDisconnect(callback: () => void): void {
    if (this.isDisconnected) return callback()
    // `close` is emitted only once; `once` would allocate one more object per call.
    this.response.on('close', () => {
      if (!this.response.writableFinished) callback()
    })
  }
}

export function sendReply(
  response: ServerResponse,
  { message, status }: Reply,
  headers: Readonly<Record<string, string>>,
): void {
  const length = String(messageBytes(message))
  // An array is written directly; an object would be converted to an array first.
  const head = ['content-length', length]
  for (const name in headers) head.push(name, headers[name] as string)
  response.writeHead(status, head)
  writePieces(response, message)
}

/** Shorter pieces are cheaper to copy together than to write separately. */
const MIN_WRITE_BYTES = 256

/** Node sends a string together with the head, and the rest in the same system call: `end` uncorks. */
function writePieces(response: ServerResponse, message: WireMessage): void {
  response.cork()
  let text = ''
  for (const piece of message) {
    if (piece.length < MIN_WRITE_BYTES) {
      text += asLatin1(piece)
      continue
    }
    if (text !== '') response.write(text, 'latin1')
    text = ''
    response.write(piece)
  }
  response.end(text, 'latin1')
}

/** How long a client may continue to send its body after it was answered. */
const DRAIN_TIMEOUT_MS = 1_000

/** Skips the rest of a body: closing now would reset the connection, and the client would lose the answer. */
function drainBody(request: IncomingMessage): void {
  request.resume()
  const timer = setTimeout(() => request.complete || request.destroy(), DRAIN_TIMEOUT_MS).unref()
  request.once('close', () => clearTimeout(timer))
}
