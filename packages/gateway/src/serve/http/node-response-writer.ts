import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Reply } from '../rpc/client-request.ts'
import { asLatin1, messageBytes, type WireMessage } from '../rpc/wire-message.ts'
import type { ResponseWriter } from './response-writer.ts'

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

  send(reply: Reply, headers?: Readonly<Record<string, string>>): void {
    if (this.isSpent) return
    sendReply(this.response, reply, headers)
    if (!this.#request.complete) drainBody(this.#request)
  }

  open(): ServerResponse {
    return this.response
  }

  onDisconnect(told: () => void): void {
    if (this.isDisconnected) return told()
    // It happens once; `once` would make an object more for every call.
    this.response.on('close', () => {
      if (!this.response.writableFinished) told()
    })
  }
}

export function sendReply(
  response: ServerResponse,
  { message, status }: Reply,
  headers?: Readonly<Record<string, string>>,
): void {
  const length = String(messageBytes(message))
  // A list is written as it is; an object would be made into one first.
  const head = ['content-type', 'application/json', 'content-length', length]
  for (const name in headers) head.push(name, headers[name] as string)
  response.writeHead(status, head)
  writePieces(response, message)
}

/** A shorter piece is cheaper to copy than to write by itself. */
const MIN_WRITE_BYTES = 256

/** Node sends a text together with the head, and what follows in the same system call: ending uncorks. */
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

/** So long a client that was answered may go on sending its body. */
const DRAIN_TIMEOUT_MS = 1_000

/** Reads past the rest of a body: hanging up while it comes would reset the connection, and the answer with it. */
function drainBody(request: IncomingMessage): void {
  request.resume()
  const timer = setTimeout(() => request.complete || request.destroy(), DRAIN_TIMEOUT_MS).unref()
  request.once('close', () => clearTimeout(timer))
}
