import type { Socket } from 'node:net'
import { type Permit, recheckPermit, usePermit } from '../permit.ts'
import { brokenHttp, closedByGateway, closedByServer, connectTimeout } from './connection-failure.ts'
import type { ResponseHead } from './response-head.ts'
import { type ResponseListener, ResponseReader } from './response-reader.ts'

/** A request as it goes over the wire. */
export interface WireRequest {
  /** The head, including the empty line. */
  readonly head: string
  readonly body: string
}

/** One request and the listener for its response. */
export interface ConnectionRequest extends ResponseListener {
  readonly wire: WireRequest
  /** The connection that carries it; only that one writes it. */
  connection: ClientConnection | undefined
  readonly permit: Permit
  /** `sent`: whether the server may have seen the request. No further events follow. */
  onFailure(cause: Error, reach: 'sent' | 'unsent'): void
}

export interface ClientConnectionOwner {
  /** It can carry another request. */
  onFree(connection: ClientConnection): void
  onClosed(connection: ClientConnection): void
}

const DEFAULT_KEEP_ALIVE_MS = 4_000
const MAX_KEEP_ALIVE_MS = 600_000
const CONNECT_TIMEOUT_MS = 10_000
/** A server that announces when it closes may close this much earlier. */
const KEEP_ALIVE_MARGIN_MS = 1_000

/** A connection to a server, which carries one request at a time. */
export class ClientConnection implements ResponseListener {
  readonly #socket: Socket
  readonly #owner: ClientConnectionOwner
  readonly #reader = new ResponseReader()
  #request: ConnectionRequest | undefined
  #isConnected = false
  /** The current request was given to the operating system. */
  #isSent = false
  #keepsAlive = false
  #keepAliveMs = DEFAULT_KEEP_ALIVE_MS
  #usableUntil = 0

  constructor(socket: Socket, owner: ClientConnectionOwner, connected: 'connect' | 'secureConnect') {
    this.#socket = socket
    this.#owner = owner
    const timer = setTimeout(() => socket.destroy(connectTimeout()), CONNECT_TIMEOUT_MS)
    socket.once(connected, () => {
      this.#isConnected = true
      clearTimeout(timer)
      if (this.#request) this.#write(this.#request)
    })
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('end', () => this.#onSocketEnd())
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => {
      clearTimeout(timer)
      this.#fail(closedByServer())
      this.#owner.onClosed(this)
    })
  }

  /** As far as the server has announced, it has not closed the connection yet. */
  isUsable(now: number): boolean {
    return now < this.#usableUntil && !this.#socket.destroyed
  }

  send(sending: ConnectionRequest): void {
    this.#request = sending
    sending.connection = this
    this.#isSent = false
    this.#socket.ref()
    if (this.#isConnected) this.#write(sending)
  }

  /** Waits for the connection first: bytes that a socket buffers until then could no longer be stopped. */
  #write(sending: ConnectionRequest): void {
    if (usePermit(sending.permit)) this.#transmit(sending.wire)
    else void recheckPermit(sending.permit).then((refusal) => this.#onRechecked(sending, refusal))
  }

  #transmit({ head, body }: WireRequest): void {
    this.#isSent = true
    this.#reader.begin(this)
    // One write if each character is one byte; the head is latin1, the body is UTF-8.
    if (Buffer.byteLength(body) === body.length) this.#socket.write(head + body, 'latin1')
    else this.#writeBoth(head, body)
  }

  #onRechecked(sending: ConnectionRequest, refusal: Error | undefined): void {
    // Meanwhile it may have been cancelled, or the connection lost.
    if (this.#request !== sending) return
    if (refusal) this.#refuse(sending, refusal)
    else this.#write(sending)
  }

  /** The connection can be reused. */
  #refuse(sending: ConnectionRequest, error: Error): void {
    this.#detach()
    this.#release()
    sending.onFailure(error, 'unsent')
  }

  /** The waiting listener gets the error. */
  close(): void {
    this.#fail(closedByGateway())
  }

  /** The waiting listener gets no further events. */
  destroy(): void {
    this.#detach()
    this.#reader.stop()
    this.#socket.destroy()
  }

  onHead(head: ResponseHead): void {
    this.#keepsAlive = head.keepsAlive
    this.#keepAliveMs = parseKeepAlive(head.headers['keep-alive'])
    this.#request?.onHead(head)
  }

  onBody(chunk: Buffer): void {
    this.#request?.onBody(chunk)
  }

  /** The connection is released before the end is reported: the listener may close everything. */
  onEnd(isClean: boolean): void {
    const sending = this.#detach()
    // Unexpected bytes would be taken for the answer to the next request. And the next request must not queue behind
    // one that the server does not read completely.
    if (isClean && this.#keepsAlive && !this.#socket.destroyed && this.#socket.writableLength === 0) this.#release()
    else this.#socket.destroy()
    sending?.onEnd(isClean)
  }

  /** While no request is pending, it does not keep the process alive. */
  #release(): void {
    this.#socket.unref()
    this.#usableUntil = performance.now() + this.#keepAliveMs
    this.#owner.onFree(this)
  }

  #detach(): ConnectionRequest | undefined {
    const sending = this.#request
    this.#request = undefined
    if (sending) sending.connection = undefined
    return sending
  }

  #writeBoth(head: string, body: string): void {
    this.#socket.cork()
    this.#socket.write(head, 'latin1')
    this.#socket.write(body)
    this.#socket.uncork()
  }

  #read(chunk: Buffer): void {
    if (this.#reader.isOver) return this.#fail(brokenHttp('unexpected bytes'))
    try {
      this.#reader.feed(chunk)
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  #onSocketEnd(): void {
    if (!this.#reader.finish()) this.#fail(closedByServer())
  }

  #fail(error: Error): void {
    const sending = this.#request
    this.destroy()
    sending?.onFailure(error, this.#isSent ? 'sent' : 'unsent')
  }
}

/** The value of its header. As far as we know, servers without the header close after five seconds or later. */
function parseKeepAlive(told: string | string[] | undefined): number {
  const seconds = typeof told === 'string' ? /(?:^|[\s,;])timeout=(\d{1,9})/i.exec(told)?.[1] : undefined
  if (seconds === undefined) return DEFAULT_KEEP_ALIVE_MS
  return Math.min(Number(seconds) * 1_000 - KEEP_ALIVE_MARGIN_MS, MAX_KEEP_ALIVE_MS)
}
