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
  /** Prefix of its event ids. */
  readonly name: string
  /** Whether the client understands events with only an id. */
  readonly sendsPrimingEvent: boolean
  readonly now: () => number
  /** Called with the change of the buffered bytes. */
  readonly onBytesChange: (difference: number) => void
  /** The first event has the number after this one. Missing (0), unless the stream continues one that was removed. */
  readonly after?: number
  /** Replaces an answer that could not be retained. A stream without this has no answer, and never ends on its own. */
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
  /** Number of the last event sent over it. */
  lastSent: number
  isWaiting: boolean
}

const MAX_NOTICES = 500
const MAX_NOTICE_BYTES = 256_000
/** Estimated size of an event without its message. */
const EVENT_OVERHEAD_BYTES = 100
const SMALL_BYTES = 65_536
/** Above this backlog, no more requests are sent to the client. */
const MAX_UNREAD_BYTES = 16_000_000
/** Tells a client when to reconnect. */
const RETRY_MS = 1_000
/** Delivered events are retained, because they may still get lost, for example in a proxy. */
const DELIVERED_RETENTION_MS = 60_000
const UNDELIVERED_RETENTION_MS = 300_000
/** No server waits longer for the answer to a request. */
const REQUEST_RETENTION_MS = 600_000

/** Events in order, each with an id, sent over the newest connection. A client can reconnect and continue where it was. */
export class ResumableStream implements EventStream {
  readonly #options: ResumableStreamOptions
  #events: BufferedEvent[] = []
  #last: number
  #bytes = 0
  #noticeBytes = 0
  #notices = 0
  #connection: Connection | undefined
  /** Number of the newest event that was sent over any connection. */
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

  /** No client will resume it any more. A call in flight is never stale. */
  get isStale(): boolean {
    if (this.#connection) return false
    const now = this.#options.now()
    if (this.#deliveredAt !== undefined) return now - this.#deliveredAt >= DELIVERED_RETENTION_MS
    const since = this.#options.lost ? this.#finishedAt : this.#disconnectedAt
    return since !== undefined && now - since >= UNDELIVERED_RETENTION_MS
  }

  /** How long there has been no connection, in milliseconds. */
  get absenceMs(): number {
    return this.#connection ? 0 : this.#options.now() - (this.#disconnectedAt ?? 0)
  }

  /** Whether an identical message is already waiting to be sent. */
  isPending([text]: WireMessage): boolean {
    return (
      !this.#connection && this.#events.some(({ number, message }) => number > this.#lastSent && message[0] === text)
    )
  }

  /** Replaces the connection, and sends all events after number `after`. */
  connect(response: ServerResponse, after: number, headers?: Readonly<Record<string, string>>): void {
    if (response.destroyed) return
    const former = this.#connection
    const connection = { response, lastSent: after, isWaiting: false }
    this.#connection = connection
    if (former) closeFormer(former.response)
    beginEventStream(response, headers)
    // Without a first event, a connection that breaks early could not be resumed.
    if (this.#options.sendsPrimingEvent) response.write(`id: ${this.#formatId(after)}\nretry: ${RETRY_MS}\ndata:\n\n`)
    response.once('finish', () => this.#delivered(connection))
    response.once('close', () => {
      if (this.#connection !== connection) return
      this.#connection = undefined
      this.#disconnectedAt = this.#options.now()
    })
    this.#pump()
  }

  send(message: WireMessage, kind: 'notice' | 'request'): boolean {
    // Notices can be dropped later, requests cannot: they must not fill our memory for a client that does not read.
    const unread = this.#connection?.response.writableLength ?? 0
    if (this.isFinished || (kind === 'request' && unread > MAX_UNREAD_BYTES)) return false
    this.#append(message, kind)
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

  /** Removes old events. Without a connection they are retained longer. */
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

  /** Frees memory: a client that resumes later gets an error instead of the answer. The current connection still gets everything. */
  releaseMemory(): void {
    this.#sendAll()
    const { lost } = this.#options
    const isOwed = this.isFinished && !this.isDelivered
    this.#replaceEvents(isOwed && lost ? [this.#createEvent(lost(), 'answer', this.#last)] : [])
  }

  /** After this, the stream cannot be resumed. The current connection still gets everything. */
  forget(): void {
    this.#sendAll()
    this.#replaceEvents([])
  }

  #append(message: WireMessage, kind: EventKind): void {
    const event = this.#createEvent(copyIfSmall(message), kind, ++this.#last)
    this.#events.push(event)
    this.#bytes += event.bytes
    this.#countNotice(event, 1)
    // Sent first: the budget that is notified next may remove the event.
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
    for (const event of this.#eventsAfter(connection.lastSent)) {
      if (response.writableLength > MAX_STREAM_BACKLOG_BYTES) return this.#waitForReader(connection)
      this.#sendEvent(connection, event)
    }
    if (this.isFinished) response.end()
  }

  /** `drain` is not always emitted after a corked write, so this waits until a written SSE comment has left. */
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
    connection.lastSent = event.number
    this.#lastSent = Math.max(this.#lastSent, event.number)
  }

  /** Also for a slow reader. */
  #sendAll(): void {
    const connection = this.#connection
    if (!connection) return
    for (const event of this.#eventsAfter(connection.lastSent))
      if (event.kind !== 'notice') this.#sendEvent(connection, event)
    if (this.isFinished) connection.response.end()
  }

  #delivered(connection: Connection): void {
    if (this.#connection === connection && this.isFinished && connection.lastSent === this.#last)
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

/** The new connection repeats what the former one has not read, so a large backlog is dropped and not flushed. */
function closeFormer(response: ServerResponse): void {
  if (response.writableLength > SMALL_BYTES) response.destroy()
  else response.end()
}

/** A slice keeps the whole buffer that it came from in memory, so small messages are copied. */
function copyIfSmall(message: WireMessage): WireMessage {
  if (message.every((piece) => typeof piece === 'string')) return message
  const bytes = messageBytes(message)
  if (bytes > SMALL_BYTES) return message
  const copy = Buffer.allocUnsafeSlow(bytes)
  let at = 0
  for (const piece of message) at += typeof piece === 'string' ? copy.write(piece, at) : piece.copy(copy, at)
  return [copy]
}
