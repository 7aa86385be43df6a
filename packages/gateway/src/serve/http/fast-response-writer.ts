import { IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Reply } from '../rpc/client-request.ts'
import { asLatin1, messageBytes, type WireMessage } from '../rpc/wire-message.ts'
import { sendReply } from './node-response-writer.ts'
import type { ResponseWriter } from './response-writer.ts'

/** A longer message is written in its pieces, as node does it. */
const MAX_JOINED_BYTES = 32_768

/** The answer to a request that came whole: a small message leaves in one write, all else by a response of node's. */
export class FastResponseWriter implements ResponseWriter {
  readonly #socket: Socket
  readonly #keepAliveSeconds: number
  readonly #done: () => void
  #response: ServerResponse | undefined
  #isSent = false
  #onDisconnect: (() => void) | undefined

  /** The connection is kept for so many seconds after it. */
  constructor(socket: Socket, keptFor: number, done: () => void) {
    this.#socket = socket
    this.#keepAliveSeconds = keptFor
    this.#done = done
  }

  get address(): string | undefined {
    return this.#socket.remoteAddress
  }

  get isDisconnected(): boolean {
    return this.#socket.destroyed
  }

  get isSpent(): boolean {
    return this.#isSent || !this.#socket.writable || this.#response?.headersSent === true
  }

  get response(): ServerResponse | undefined {
    return this.#response
  }

  send(reply: Reply, headers?: Readonly<Record<string, string>>): void {
    if (this.isSpent) return
    const { status, message } = reply
    const bytes = messageBytes(message)
    if (this.#response || headers !== undefined || bytes > MAX_JOINED_BYTES)
      return sendReply(this.open(), reply, headers)
    this.#isSent = true
    this.#socket.write(formatHead(status, bytes, this.#keepAliveSeconds) + joinPieces(message), 'latin1')
    this.#done()
  }

  open(): ServerResponse {
    this.#response ??= this.#openResponse()
    return this.#response
  }

  onDisconnect(told: () => void): void {
    if (this.isDisconnected) told()
    else this.#onDisconnect = told
  }

  /** The connection closed before all was said. */
  handleDisconnect(): void {
    this.#onDisconnect?.()
  }

  #openResponse(): ServerResponse {
    const socket = this.#socket
    const request = Object.assign(new IncomingMessage(socket), {
      complete: true,
      httpVersionMajor: 1,
      httpVersionMinor: 1,
    })
    const response = new ServerResponse(request)
    response.setHeader('keep-alive', `timeout=${this.#keepAliveSeconds}`)
    response.assignSocket(socket)
    const onTimeout = (): void => void response.emit('timeout', socket)
    socket.on('timeout', onTimeout)
    response.once('finish', () => {
      // The patience of one answer is not that of the next, nor of node's, which may get this connection.
      socket.off('timeout', onTimeout).setTimeout(0)
      response.detachSocket(socket)
      // Others still have to hear that it is finished.
      process.nextTick(closeResponse, response)
      this.#done()
    })
    return response
  }
}

function closeResponse(response: ServerResponse): void {
  response.destroyed = true
  response.emit('close')
}

/** Read from the clock once a second. */
let second = 0
let dateLine = ''

function formatDate(now: number): string {
  const current = Math.floor(now / 1_000)
  if (current !== second) {
    second = current
    dateLine = new Date(now).toUTCString()
  }
  return dateLine
}

function formatHead(status: number, bytes: number, keptFor: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json\r\ncontent-length: ${bytes}\r\ndate: ${formatDate(Date.now())}\r\nconnection: keep-alive\r\nkeep-alive: timeout=${keptFor}\r\n\r\n`
}

function joinPieces(message: WireMessage): string {
  let text = ''
  for (const piece of message) text += asLatin1(piece)
  return text
}
