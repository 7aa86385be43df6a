import type { Socket } from 'node:net'
import { type FastRequest, parseFastRequest, type RequestHead } from './fast-request-parser.ts'
import { FastResponseWriter } from './fast-response-writer.ts'

export interface HttpConnectionOptions {
  readonly onRequest: (request: FastRequest, answer: FastResponseWriter) => void
  /** Hands the connection to node:http for good. The bytes that we could not parse are back in the socket. */
  readonly handOver: (socket: Socket) => void
  readonly onClose: (connection: HttpConnection) => void
  /** How long an idle connection stays open, in seconds. */
  readonly keepAliveSeconds: number
}

/** Limit for bytes that arrive before the current answer is sent. Above it, the socket is paused. */
const MAX_BUFFERED_BYTES = 65_536

/** How any request begins; empty lines before it are skipped (RFC 9112, 2.2). */
const REQUEST_START = /^[\r\n]*(?:[A-Z-]+(?: |$)|$)/
const REQUEST_START_BYTES = 16

/** A connection whose requests have each arrived in one piece so far. The first other request moves it to node:http. */
export class HttpConnection {
  readonly #socket: Socket
  readonly #options: HttpConnectionOptions
  #answer: FastResponseWriter | undefined
  #buffered: Buffer | undefined
  #lastHead: RequestHead | undefined
  #idleChecks = 0

  constructor(socket: Socket, options: HttpConnectionOptions) {
    this.#socket = socket
    this.#options = options
    socket.on('error', ignore).on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onClose)
  }

  get isIdle(): boolean {
    return this.#answer === undefined
  }

  /** Whether it has received a complete request before. */
  get hasReceivedRequest(): boolean {
    return this.#lastHead !== undefined
  }

  /** Call this at a regular interval. Returns the number of calls, this one included, since the last request or answer. */
  countIdleChecks(): number {
    this.#idleChecks = this.#answer && this.#socket.writable ? 0 : this.#idleChecks + 1
    return this.#idleChecks
  }

  /** Sends what was written, then closes. A second call closes at once, even if the client has not read everything. */
  end(): void {
    if (this.#socket.writableEnded) this.destroy()
    else this.#socket.destroySoon()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  readonly #onData = (chunk: Buffer): void => {
    // Do not make a call that can no longer be answered.
    if (!this.#socket.writable) return
    if (this.#answer || this.#buffered) this.#buffer(chunk)
    else this.#read(chunk)
  }

  #read(bytes: Buffer): void {
    const request = parseFastRequest(bytes, this.#lastHead)
    if (request === undefined) return this.#handOver(bytes)
    this.#lastHead = request.head
    this.#idleChecks = 0
    this.#answer = new FastResponseWriter(this.#socket, this.#options.keepAliveSeconds, this.#onAnswered)
    this.#options.onRequest(request, this.#answer)
  }

  /** Not paused at the first byte: a paused socket would not notice that the client disconnects. */
  #buffer(chunk: Buffer): void {
    const buffered = this.#buffered ? Buffer.concat([this.#buffered, chunk]) : chunk
    this.#buffered = buffered
    // The current answer may be a stream that lasts for days; invalid bytes are rejected now.
    if (!REQUEST_START.test(buffered.toString('latin1', 0, REQUEST_START_BYTES))) this.#socket.destroySoon()
    else if (buffered.length > MAX_BUFFERED_BYTES) this.#socket.pause()
  }

  readonly #onAnswered = (): void => {
    this.#answer = undefined
    if (this.#socket.writableNeedDrain) this.#waitForDrain()
    // In a microtask: synchronous answers would grow the stack.
    else if (this.#buffered) queueMicrotask(() => this.#readBuffered())
  }

  /** A client that does not read its answers must not fill our memory with them. */
  #waitForDrain(): void {
    this.#socket.pause().once('drain', () => {
      if (this.#buffered) this.#readBuffered()
      else this.#socket.resume()
    })
  }

  #readBuffered(): void {
    const buffered = this.#buffered
    this.#buffered = undefined
    if (buffered === undefined || !this.#socket.writable) return
    this.#socket.resume()
    this.#read(buffered)
  }

  #handOver(bytes: Buffer): void {
    const socket = this.#socket
    socket.pause()
    socket.off('error', ignore).off('data', this.#onData).off('end', this.#onEnd).off('close', this.#onClose)
    socket.unshift(bytes)
    this.#options.onClose(this)
    this.#options.handOver(socket)
    socket.resume()
  }

  /** Like node:http: a client that closes its side gets no further answers. */
  readonly #onEnd = (): void => {
    this.#socket.end()
  }

  readonly #onClose = (): void => {
    this.#answer?.handleDisconnect()
    this.#options.onClose(this)
  }
}

/** The `close` event follows and is handled. */
function ignore(): void {}
