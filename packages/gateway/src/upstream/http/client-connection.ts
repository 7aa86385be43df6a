import type { Socket } from 'node:net'
import { type Permit, recheckPermit, usePermit } from '../permit.ts'
import { brokenHttp, closedHere, closedThere, connectedTooLate } from './connection-failure.ts'
import type { ResponseHead } from './response-head.ts'
import { type ResponseListener, ResponseReader } from './response-reader.ts'

/** A request as it goes over the wire. */
export interface WireRequest {
  /** To the empty line. */
  readonly head: string
  readonly body: string
}

/** One request and whoever waits for its response. */
export interface Sending extends ResponseListener {
  readonly wire: WireRequest
  /** What it goes over; only that writes it. */
  connection: ClientConnection | undefined
  readonly permit: Permit
  /** `sent` tells whether the server may have seen it. Nothing follows. */
  onFailure(cause: Error, reach: 'sent' | 'unsent'): void
}

export interface ClientConnectionOwner {
  /** It can take another request. */
  onFree(connection: ClientConnection): void
  onGone(connection: ClientConnection): void
}

const KEPT_ALIVE = 4_000
const MOST_KEPT_ALIVE = 600_000
const MOST_TIME_TO_CONNECT = 10_000
/** A server that tells when it closes may be early by as much. */
const CLOSING_TIME = 1_000

/** A connection to a server, which carries one request at a time. */
export class ClientConnection implements ResponseListener {
  readonly #socket: Socket
  readonly #owner: ClientConnectionOwner
  readonly #reader = new ResponseReader()
  #sending: Sending | undefined
  #isConnected = false
  /** The request that it carries now was given to the operating system. */
  #isSent = false
  #keepsAlive = false
  #keptFor = KEPT_ALIVE
  #freshUntil = 0

  constructor(socket: Socket, owner: ClientConnectionOwner, connected: 'connect' | 'secureConnect') {
    this.#socket = socket
    this.#owner = owner
    const timer = setTimeout(() => socket.destroy(connectedTooLate()), MOST_TIME_TO_CONNECT)
    socket.once(connected, () => {
      this.#isConnected = true
      clearTimeout(timer)
      if (this.#sending) this.#write(this.#sending)
    })
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('end', () => this.#ended())
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => {
      clearTimeout(timer)
      this.#fail(closedThere())
      this.#owner.onGone(this)
    })
  }

  /** Its server has not closed it yet, as far as it told. */
  isFresh(now: number): boolean {
    return now < this.#freshUntil && !this.#socket.destroyed
  }

  send(sending: Sending): void {
    this.#sending = sending
    sending.connection = this
    this.#isSent = false
    this.#socket.ref()
    if (this.#isConnected) this.#write(sending)
  }

  /** Not before there is a connection: what a socket holds back until then could no longer be stopped. */
  #write(sending: Sending): void {
    if (usePermit(sending.permit)) this.#transmit(sending.wire)
    else void recheckPermit(sending.permit).then((refusal) => this.#rechecked(sending, refusal))
  }

  #transmit({ head, body }: WireRequest): void {
    this.#isSent = true
    this.#reader.begin(this)
    // One write where each character is a byte; a head is latin1, a body is UTF-8.
    if (Buffer.byteLength(body) === body.length) this.#socket.write(head + body, 'latin1')
    else this.#writeBoth(head, body)
  }

  #rechecked(sending: Sending, refusal: Error | undefined): void {
    // Meanwhile it may have been cancelled, or the connection lost.
    if (this.#sending !== sending) return
    if (refusal) this.#refuse(sending, refusal)
    else this.#write(sending)
  }

  /** The connection is as good as before. */
  #refuse(sending: Sending, error: Error): void {
    this.#forget()
    this.#free()
    sending.onFailure(error, 'unsent')
  }

  /** Whoever waits is told. */
  close(): void {
    this.#fail(closedHere())
  }

  /** Whoever waits hears nothing more. */
  destroy(): void {
    this.#forget()
    this.#reader.stop()
    this.#socket.destroy()
  }

  onHead(head: ResponseHead): void {
    this.#keepsAlive = head.keepsAlive
    this.#keptFor = keptFor(head.headers['keep-alive'])
    this.#sending?.onHead(head)
  }

  onBody(chunk: Buffer): void {
    this.#sending?.onBody(chunk)
  }

  /** Given back before the end is told: whoever hears it may close everything. */
  onEnd(isClean: boolean): void {
    const sending = this.#forget()
    // What nobody asked for would be taken for the answer to the next request, which must not stand behind one that the
    // server does not care to read whole.
    if (isClean && this.#keepsAlive && !this.#socket.destroyed && this.#socket.writableLength === 0) this.#free()
    else this.#socket.destroy()
    sending?.onEnd(isClean)
  }

  /** While nothing is asked, it keeps nobody from leaving. */
  #free(): void {
    this.#socket.unref()
    this.#freshUntil = performance.now() + this.#keptFor
    this.#owner.onFree(this)
  }

  #forget(): Sending | undefined {
    const sending = this.#sending
    this.#sending = undefined
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
    if (this.#reader.isOver) return this.#fail(brokenHttp('bytes that nobody asked for'))
    try {
      this.#reader.feed(chunk)
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  #ended(): void {
    if (!this.#reader.finish()) this.#fail(closedThere())
  }

  #fail(error: Error): void {
    const sending = this.#sending
    this.destroy()
    sending?.onFailure(error, this.#isSent ? 'sent' : 'unsent')
  }
}

/** What its header tells; servers that do not tell close after five seconds or later, as far as we know them. */
function keptFor(told: string | string[] | undefined): number {
  const seconds = typeof told === 'string' ? /(?:^|[\s,;])timeout=(\d{1,9})/i.exec(told)?.[1] : undefined
  if (seconds === undefined) return KEPT_ALIVE
  return Math.min(Number(seconds) * 1_000 - CLOSING_TIME, MOST_KEPT_ALIVE)
}
