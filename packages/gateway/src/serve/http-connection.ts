import type { Socket } from 'node:net'
import { WholeAnswer } from './whole-answer.ts'
import { type RequestHead, readWholeRequest, type WholeRequest } from './whole-request.ts'

export interface HttpConnectionOptions {
  readonly onRequest: (request: WholeRequest, answer: WholeAnswer) => void
  /** What came otherwise waits in the socket: the connection is node's from here on. */
  readonly handOver: (socket: Socket) => void
  readonly onClose: (connection: HttpConnection) => void
}

/** So much that came while an answer was under way is held before the client has to wait. */
const MOST_HELD = 65_536

/** How a request begins, whatever it asks for. */
const BEGINNING = /^[A-Z]{3,7} /
const BEGINNING_BYTES = 8

/** A connection whose requests came whole so far. The first one that does not makes it one of node's. */
export class HttpConnection {
  readonly #socket: Socket
  readonly #options: HttpConnectionOptions
  #answer: WholeAnswer | undefined
  #held: Buffer | undefined
  #lastHead: RequestHead | undefined
  #quietLooks = 0

  constructor(socket: Socket, options: HttpConnectionOptions) {
    this.#socket = socket
    this.#options = options
    socket.on('error', ignore).on('data', this.#onData).on('end', this.#onEnd).on('close', this.#onClose)
  }

  get isIdle(): boolean {
    return this.#answer === undefined
  }

  /** Whether something was asked over it before. */
  get hasAsked(): boolean {
    return this.#lastHead !== undefined
  }

  /** Call from time to time: tells how often it was, this time included, since something was asked or answered. */
  look(): number {
    this.#quietLooks = this.#answer ? 0 : this.#quietLooks + 1
    return this.#quietLooks
  }

  /** What was written still leaves. */
  end(): void {
    this.#socket.destroySoon()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#answer || this.#held) this.#hold(chunk)
    else this.#read(chunk)
  }

  #read(bytes: Buffer): void {
    const request = readWholeRequest(bytes, this.#lastHead)
    if (request === undefined) return this.#handOver(bytes)
    this.#lastHead = request.head
    this.#quietLooks = 0
    this.#answer = new WholeAnswer(this.#socket, this.#onAnswered)
    this.#options.onRequest(request, this.#answer)
  }

  /** Paused from the first byte on, it would not notice that the client leaves. */
  #hold(chunk: Buffer): void {
    const held = this.#held ? Buffer.concat([this.#held, chunk]) : chunk
    this.#held = held
    // A stream may last for days; nonsense need not wait for its end.
    if (held.length >= BEGINNING_BYTES && !BEGINNING.test(held.toString('latin1', 0, BEGINNING_BYTES))) this.destroy()
    else if (held.length > MOST_HELD) this.#socket.pause()
  }

  readonly #onAnswered = (): void => {
    this.#answer = undefined
    // Not from here: answers that are given at once would pile up on the stack.
    if (this.#held) queueMicrotask(() => this.#readHeld())
  }

  #readHeld(): void {
    const held = this.#held
    this.#held = undefined
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
    this.#answer?.leave()
    this.#options.onClose(this)
  }
}

/** `close` follows, and says enough. */
function ignore(): void {}
