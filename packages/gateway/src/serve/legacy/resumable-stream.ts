import type { ServerResponse } from 'node:http'
import {
  beginEventStream,
  type EventKind,
  type EventStream,
  MAX_STREAM_BACKLOG_BYTES,
  writeEvent,
} from '../http/event-stream.ts'
import { messageBytes, type WireMessage } from '../rpc/wire-message.ts'

export interface ResumableStreamOptions {
  /** The beginning of its events' ids. */
  readonly name: string
  /** Whether the client knows events that carry nothing but an id. */
  readonly sendsPrimingEvent: boolean
  readonly now: () => number
  /** Told of how many bytes more, or fewer, are kept. */
  readonly onBytesChange: (difference: number) => void
  /** Its first event comes after this number; 0 unless the stream goes on with one that was forgotten. */
  readonly after?: number
  /** Takes the place of an answer that could not be kept. A stream without it has no answer, and never ends by itself. */
  readonly lost?: () => WireMessage
}

interface BufferedEvent {
  readonly number: number
  readonly at: number
  readonly kind: EventKind
  readonly bytes: number
  readonly message: WireMessage
}

interface Connection {
  readonly response: ServerResponse
  /** The number of the last event that it was given. */
  given: number
  isWaiting: boolean
}

const MAX_NOTICES = 500
const MAX_NOTICE_BYTES = 256_000
/** What an event weighs besides its text. */
const EVENT_OVERHEAD_BYTES = 100
const SMALL_BYTES = 65_536
/** So much may wait for a reader before it is asked nothing more. */
const MAX_UNREAD_BYTES = 16_000_000
/** In milliseconds: how soon a client shall come back. */
const RETRY_MS = 1_000
/** What a connection took may still be lost behind it, in a proxy for one. */
const DELIVERED_RETENTION_MS = 60_000
const UNDELIVERED_RETENTION_MS = 300_000
/** Nobody waits longer for the answer to a request. */
const REQUEST_RETENTION_MS = 600_000

/** Events in order, each with an id, for whichever connection came last: a client whose connection broke goes on where it was. */
export class ResumableStream implements EventStream {
  readonly #options: ResumableStreamOptions
  #events: BufferedEvent[] = []
  #last: number
  #bytes = 0
  #noticeBytes = 0
  #notices = 0
  #connection: Connection | undefined
  /** The newest event that any connection was given. */
  #lastSent = 0
  #disconnectedAt: number | undefined
  #finishedAt: number | undefined
  #deliveredAt: number | undefined

  constructor(options: ResumableStreamOptions) {
    this.#options = options
    this.#last = options.after ?? 0
  }

  get connection(): ServerResponse | undefined {
    return this.#connection?.response
  }

  /** The number of its newest event. */
  get last(): number {
    return this.#last
  }

  get bytes(): number {
    return this.#bytes
  }

  get isFinished(): boolean {
    return this.#finishedAt !== undefined
  }

  get isDelivered(): boolean {
    return this.#deliveredAt !== undefined
  }

  /** Nobody will ask for it any more. A call that is under way is never stale. */
  get isStale(): boolean {
    if (this.#connection) return false
    const now = this.#options.now()
    if (this.#deliveredAt !== undefined) return now - this.#deliveredAt >= DELIVERED_RETENTION_MS
    const since = this.#options.lost ? this.#finishedAt : this.#disconnectedAt
    return since !== undefined && now - since >= UNDELIVERED_RETENTION_MS
  }

  /** For how long nobody has been connected, in milliseconds. */
  get absenceMs(): number {
    return this.#connection ? 0 : this.#options.now() - (this.#disconnectedAt ?? 0)
  }

  /** The same words wait to be heard already. */
  isPending([text]: WireMessage): boolean {
    return (
      !this.#connection && this.#events.some(({ number, message }) => number > this.#lastSent && message[0] === text)
    )
  }

  /** The newest connection takes over, and is given what came after that event. */
  connect(response: ServerResponse, after: number, headers?: Readonly<Record<string, string>>): void {
    if (response.destroyed) return
    const former = this.#connection
    const connection = { response, given: after, isWaiting: false }
    this.#connection = connection
    if (former) closeFormer(former.response)
    beginEventStream(response, headers)
    // Without an event of its own a connection that breaks early could not be resumed.
    if (this.#options.sendsPrimingEvent) response.write(`id: ${this.#formatId(after)}\nretry: ${RETRY_MS}\ndata:\n\n`)
    response.once('finish', () => this.#delivered(connection))
    response.once('close', () => {
      if (this.#connection !== connection) return
      this.#connection = undefined
      this.#disconnectedAt = this.#options.now()
    })
    this.#pump()
  }

  send(message: WireMessage, weight: 'notice' | 'request'): boolean {
    // A notice can be dropped later; a server that asks without end must not fill our memory for a client that does not read.
    const unread = this.#connection?.response.writableLength ?? 0
    if (this.isFinished || (weight === 'request' && unread > MAX_UNREAD_BYTES)) return false
    this.#append(message, weight)
    return true
  }

  finish(answer: WireMessage): void {
    if (this.isFinished) return
    this.#finishedAt = this.#options.now()
    this.#append(answer, 'answer')
  }

  /** Ends the connection of a stream that has no answer to wait for. */
  end(): void {
    this.#connection?.response.end()
  }

  /** What a connection was given a while ago has arrived; without one it waits longer. */
  forgetOld(): void {
    const now = this.#options.now()
    const ages = {
      notice: this.#connection ? DELIVERED_RETENTION_MS : UNDELIVERED_RETENTION_MS,
      request: REQUEST_RETENTION_MS,
    }
    this.#replaceEvents(this.#events.filter(({ kind, at }) => kind === 'answer' || now - at < ages[kind]))
  }

  forgetNotices(): void {
    this.#replaceEvents(this.#events.filter(({ kind }) => kind !== 'notice'))
  }

  /** Makes room: whoever resumes it later is told that its answer was lost. A connection still gets everything. */
  releaseMemory(): void {
    this.#sendAll()
    const { lost } = this.#options
    const isOwed = this.isFinished && !this.isDelivered
    this.#replaceEvents(isOwed && lost ? [this.#createEvent(lost(), 'answer', this.#last)] : [])
  }

  /** Cannot be resumed from now on. A connection still gets everything. */
  forget(): void {
    this.#sendAll()
    this.#replaceEvents([])
  }

  #append(message: WireMessage, weight: EventKind): void {
    const event = this.#createEvent(copyIfSmall(message), weight, ++this.#last)
    this.#events.push(event)
    this.#bytes += event.bytes
    this.#countNotice(event, 1)
    // Given first: what is told below may be that there is no room for it.
    this.#pump()
    this.#options.onBytesChange(event.bytes)
    this.#limitNotices()
  }

  #limitNotices(): void {
    while (this.#notices > MAX_NOTICES || this.#noticeBytes > MAX_NOTICE_BYTES) {
      const oldest = this.#events.findIndex(({ kind }) => kind === 'notice')
      const [event] = oldest < 0 ? [] : this.#events.splice(oldest, 1)
      if (!event) return
      this.#bytes -= event.bytes
      this.#countNotice(event, -1)
      this.#options.onBytesChange(-event.bytes)
    }
  }

  #pump(): void {
    const connection = this.#connection
    if (!connection || connection.isWaiting || connection.response.destroyed) return
    const { response } = connection
    for (const event of this.#eventsAfter(connection.given)) {
      if (response.writableLength > MAX_STREAM_BACKLOG_BYTES) return this.#waitForReader(connection)
      this.#sendEvent(connection, event)
    }
    if (this.isFinished) response.end()
  }

  /** A `drain` does not always follow a corked write; that this comment has left says the same. */
  #waitForReader(connection: Connection): void {
    connection.isWaiting = true
    connection.response.write(':\n\n', () => {
      connection.isWaiting = false
      if (this.#connection === connection) this.#pump()
    })
  }

  #sendEvent(connection: Connection, event: BufferedEvent): void {
    if (connection.response.destroyed || connection.response.writableEnded) return
    writeEvent(connection.response, event.message, this.#formatId(event.number))
    connection.given = event.number
    this.#lastSent = Math.max(this.#lastSent, event.number)
  }

  /** However slow the reader is. */
  #sendAll(): void {
    const connection = this.#connection
    if (!connection) return
    for (const event of this.#eventsAfter(connection.given))
      if (event.kind !== 'notice') this.#sendEvent(connection, event)
    if (this.isFinished) connection.response.end()
  }

  #delivered(connection: Connection): void {
    if (this.#connection === connection && this.isFinished && connection.given === this.#last)
      this.#deliveredAt = this.#options.now()
  }

  #eventsAfter(number: number): readonly BufferedEvent[] {
    return this.#events.slice(this.#events.findLastIndex((event) => event.number <= number) + 1)
  }

  #replaceEvents(events: BufferedEvent[]): void {
    const before = this.#bytes
    this.#events = events
    this.#bytes = this.#notices = this.#noticeBytes = 0
    for (const event of events) {
      this.#bytes += event.bytes
      this.#countNotice(event, 1)
    }
    if (this.#bytes !== before) this.#options.onBytesChange(this.#bytes - before)
  }

  #countNotice({ kind, bytes }: BufferedEvent, sign: 1 | -1): void {
    if (kind !== 'notice') return
    this.#notices += sign
    this.#noticeBytes += sign * bytes
  }

  #createEvent(message: WireMessage, kind: EventKind, number: number): BufferedEvent {
    return { number, at: this.#options.now(), kind, bytes: messageBytes(message) + EVENT_OVERHEAD_BYTES, message }
  }

  #formatId(number: number): string {
    return `${this.#options.name}-${number}`
  }
}

/** What it has not read is told again from where it was: much of it need not wait for a reader that was given up. */
function closeFormer(response: ServerResponse): void {
  if (response.writableLength > SMALL_BYTES) response.destroy()
  else response.end()
}

/** A piece of what a server sent holds on to all that came with it; what is small is copied instead. */
function copyIfSmall(message: WireMessage): WireMessage {
  if (message.every((piece) => typeof piece === 'string')) return message
  const bytes = messageBytes(message)
  if (bytes > SMALL_BYTES) return message
  const copy = Buffer.allocUnsafeSlow(bytes)
  let at = 0
  for (const piece of message) at += typeof piece === 'string' ? copy.write(piece, at) : piece.copy(copy, at)
  return [copy]
}
