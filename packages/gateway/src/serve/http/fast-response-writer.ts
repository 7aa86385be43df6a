import { IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { Reply } from '../rpc/client-request.ts'
import { asLatin1, messageBytes, type WireMessage } from '../rpc/wire-message.ts'
import { sendReply } from './node-response-writer.ts'
import type { AnswerType, ResponseWriter } from './response-writer.ts'

/** Longer messages are written in pieces by node:http. */
const MAX_JOINED_BYTES = 32_768

/** Answers a request that arrived in one piece: a small message is one write, everything else uses a response of node:http. */
export class FastResponseWriter implements ResponseWriter {
  readonly #socket: Socket
  readonly #keepAliveSeconds: number
  readonly #done: () => void
  #response: ServerResponse | undefined
  #isSent = false
  #onDisconnect: (() => void) | undefined

  /** The connection stays open for `keepAliveSeconds` after the answer. */
  constructor(socket: Socket, keepAliveSeconds: number, done: () => void) {
    this.#socket = socket
    this.#keepAliveSeconds = keepAliveSeconds
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

  send(reply: Reply, headers?: Readonly<Record<string, string>>, type: AnswerType = 'application/json'): void {
    if (this.isSpent) return
    const { status, message } = reply
    const bytes = messageBytes(message)
    if (this.#response || headers !== undefined || bytes > MAX_JOINED_BYTES)
      return sendReply(this.open(), reply, { ...headers, 'content-type': type })
    this.#isSent = true
    this.#socket.write(
      `${formatHead(status, type, bytes)}keep-alive: timeout=${this.#keepAliveSeconds}\r\n\r\n${joinPieces(message)}`,
      'latin1',
    )
    this.#done()
  }

  open(): ServerResponse {
    this.#response ??= this.#openResponse()
    return this.#response
  }

  onDisconnect(callback: () => void): void {
    if (this.isDisconnected) callback()
    else this.#onDisconnect = callback
  }

  /** Call this if the connection closes before the answer is complete. */
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
      // Remove the timeout of this answer: the next answer, or node:http, uses the same connection.
      socket.off('timeout', onTimeout).setTimeout(0)
      response.detachSocket(socket)
      // The other `finish` listeners run before `close`.
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

/** Formatted once a second. */
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

function formatHead(status: number, type: AnswerType, bytes: number): string {
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: ${type}\r\ncontent-length: ${bytes}\r\ndate: ${formatDate(Date.now())}\r\nconnection: keep-alive\r\n`
}

function joinPieces(message: WireMessage): string {
  let text = ''
  for (const piece of message) text += asLatin1(piece)
  return text
}
