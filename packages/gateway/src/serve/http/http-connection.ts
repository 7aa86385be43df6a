import type { Socket } from 'node:net'
import { type FastRequest, parseFastRequest, type RequestHead } from './fast-request-parser.ts'
import { FastResponseWriter } from './fast-response-writer.ts'

export interface HttpConnectionOptions {
  readonly onRequest: (request: FastRequest, answer: FastResponseWriter) => void
  /** What came otherwise waits in the socket: the connection is node's from here on. */
  readonly handOver: (socket: Socket) => void
  readonly onClose: (connection: HttpConnection) => void
  /** For how long the client may take to ask again, in seconds. */
  readonly keepAliveSeconds: number
}

/** So much that came while an answer was under way is held before the client has to wait. */
const MAX_BUFFERED_BYTES = 65_536

/** How a request begins, whatever it asks for: empty lines before it are passed over (RFC 9112, 2.2). */
const REQUEST_START = /^[\r\n]*(?:[A-Z-]+(?: |$)|$)/
const REQUEST_START_BYTES = 16

/** A connection whose requests came whole so far. The first one that does not makes it one of node's. */
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

  /** Whether something was asked over it before. */
  get hasReceivedRequest(): boolean {
    return this.#lastHead !== undefined
  }

  /** Call from time to time: tells how often it was, this time included, since something was asked or answered. */
  countIdleChecks(): number {
    this.#idleChecks = this.#answer && this.#socket.writable ? 0 : this.#idleChecks + 1
    return this.#idleChecks
  }

  /** What was written still leaves; whoever has not taken it by the second time does not get it. */
  end(): void {
    if (this.#socket.writableEnded) this.destroy()
    else this.#socket.destroySoon()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  readonly #onData = (chunk: Buffer): void => {
    // A call that cannot be answered any more is not made.
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

  /** Paused from the first byte on, it would not notice that the client leaves. */
  #buffer(chunk: Buffer): void {
    const held = this.#buffered ? Buffer.concat([this.#buffered, chunk]) : chunk
    this.#buffered = held
    // A stream may last for days; nonsense need not wait for its end.
    if (!REQUEST_START.test(held.toString('latin1', 0, REQUEST_START_BYTES))) this.#socket.destroySoon()
    else if (held.length > MAX_BUFFERED_BYTES) this.#socket.pause()
  }

  readonly #onAnswered = (): void => {
    this.#answer = undefined
    if (this.#socket.writableNeedDrain) this.#waitForDrain()
    // Not from here: answers that are given at once would pile up on the stack.
    else if (this.#buffered) queueMicrotask(() => this.#readBuffered())
  }

  /** Whoever asks and does not read must not fill our memory with answers. */
  #waitForDrain(): void {
    this.#socket.pause().once('drain', () => {
      if (this.#buffered) this.#readBuffered()
      else this.#socket.resume()
    })
  }

  #readBuffered(): void {
    const held = this.#buffered
    this.#buffered = undefined
    if (held === undefined || !this.#socket.writable) return
    this.#socket.resume()
    this.#read(held)
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

  /** As node:http does it: whoever says nothing more is not answered either. */
  readonly #onEnd = (): void => {
    this.#socket.end()
  }

  readonly #onClose = (): void => {
    this.#answer?.handleDisconnect()
    this.#options.onClose(this)
  }
}

/** `close` follows, and says enough. */
function ignore(): void {}
