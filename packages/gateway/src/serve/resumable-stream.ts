import type { ServerResponse } from 'node:http'
import { BACKLOG_LIMIT, beginEventStream, type EventStream, type Weight, writeEvent } from './event-stream.ts'
import { messageBytes, type WireMessage } from './wire-message.ts'

export interface ResumableStreamOptions {
  /** The beginning of its events' ids. */
  readonly name: string
  /** Whether the client knows events that carry nothing but an id. */
  readonly primes: boolean
  readonly now: () => number
  /** Told of how many bytes more, or fewer, are kept. */
  readonly onKept: (difference: number) => void
  /** Its first event comes after this number; 0 unless the stream goes on with one that was forgotten. */
  readonly after?: number
  /** Takes the place of an answer that could not be kept. A stream without it has no answer, and never ends by itself. */
  readonly lost?: () => WireMessage
}

interface KeptEvent {
  readonly number: number
  readonly at: number
  readonly weight: Weight
  readonly bytes: number
  readonly message: WireMessage
}

interface Connection {
  readonly response: ServerResponse
  /** The number of the last event that it was given. */
  given: number
  isWaiting: boolean
}

const MOST_NOTICES = 500
const MOST_NOTICE_BYTES = 256_000
/** What an event weighs besides its text. */
const EVENT_WEIGHT = 100
const SMALL = 65_536
/** So much may wait for a reader before it is asked nothing more. */
const MOST_UNREAD = 16_000_000
/** In milliseconds: how soon a client shall come back. */
const RETRY = 1_000
/** What a connection took may still be lost behind it, in a proxy for one. */
const KEPT_AFTER_DELIVERY = 60_000
const KEPT_UNDELIVERED = 300_000
/** Nobody waits longer for the answer to a request. */
const KEPT_REQUEST = 600_000

/** Events in order, each with an id, for whichever connection came last: a client whose connection broke goes on where it was. */
export class ResumableStream implements EventStream {
  readonly #options: ResumableStreamOptions
  #events: KeptEvent[] = []
  #last: number
  #bytes = 0
  #noticeBytes = 0
  #notices = 0
  #connection: Connection | undefined
  /** The newest event that any connection was given. */
  #given = 0
  #leftAt: number | undefined
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
    if (this.#deliveredAt !== undefined) return now - this.#deliveredAt >= KEPT_AFTER_DELIVERY
    const since = this.#options.lost ? this.#finishedAt : this.#leftAt
    return since !== undefined && now - since >= KEPT_UNDELIVERED
  }

  /** For how long nobody has been connected, in milliseconds. */
  get absence(): number {
    return this.#connection ? 0 : this.#options.now() - (this.#leftAt ?? 0)
  }

  /** The same words wait to be heard already. */
  isPending([text]: WireMessage): boolean {
    return !this.#connection && this.#events.some(({ number, message }) => number > this.#given && message[0] === text)
  }

  /** The newest connection takes over, and is given what came after that event. */
  connect(response: ServerResponse, after: number, headers?: Readonly<Record<string, string>>): void {
    if (response.destroyed) return
    const former = this.#connection
    const connection = { response, given: after, isWaiting: false }
    this.#connection = connection
    if (former) dismiss(former.response)
    beginEventStream(response, headers)
    // Without an event of its own a connection that breaks early could not be resumed.
    if (this.#options.primes) response.write(`id: ${this.#idOf(after)}\nretry: ${RETRY}\ndata:\n\n`)
    response.once('finish', () => this.#delivered(connection))
    response.once('close', () => {
      if (this.#connection !== connection) return
      this.#connection = undefined
      this.#leftAt = this.#options.now()
    })
    this.#pump()
  }

  send(message: WireMessage, weight: 'notice' | 'request'): boolean {
    // A notice can be dropped later; a server that asks without end must not fill our memory for a client that does not read.
    const unread = this.#connection?.response.writableLength ?? 0
    if (this.isFinished || (weight === 'request' && unread > MOST_UNREAD)) return false
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
    const ages = { notice: this.#connection ? KEPT_AFTER_DELIVERY : KEPT_UNDELIVERED, request: KEPT_REQUEST }
    this.#keep(this.#events.filter(({ weight, at }) => weight === 'answer' || now - at < ages[weight]))
  }

  forgetNotices(): void {
    this.#keep(this.#events.filter(({ weight }) => weight !== 'notice'))
  }

  /** Makes room: whoever resumes it later is told that its answer was lost. A connection still gets everything. */
  shed(): void {
    this.#giveAll()
    const { lost } = this.#options
    const isOwed = this.isFinished && !this.isDelivered
    this.#keep(isOwed && lost ? [this.#eventOf(lost(), 'answer', this.#last)] : [])
  }

  /** Cannot be resumed from now on. A connection still gets everything. */
  forget(): void {
    this.#giveAll()
    this.#keep([])
  }

  #append(message: WireMessage, weight: Weight): void {
    const event = this.#eventOf(compact(message), weight, ++this.#last)
    this.#events.push(event)
    this.#bytes += event.bytes
    this.#count(event, 1)
    // Given first: what is told below may be that there is no room for it.
    this.#pump()
    this.#options.onKept(event.bytes)
    this.#limitNotices()
  }

  #limitNotices(): void {
    while (this.#notices > MOST_NOTICES || this.#noticeBytes > MOST_NOTICE_BYTES) {
      const oldest = this.#events.findIndex(({ weight }) => weight === 'notice')
      const [event] = oldest < 0 ? [] : this.#events.splice(oldest, 1)
      if (!event) return
      this.#bytes -= event.bytes
      this.#count(event, -1)
      this.#options.onKept(-event.bytes)
    }
  }

  #pump(): void {
    const connection = this.#connection
    if (!connection || connection.isWaiting || connection.response.destroyed) return
    const { response } = connection
    for (const event of this.#eventsAfter(connection.given)) {
      if (response.writableLength > BACKLOG_LIMIT) return this.#waitForReader(connection)
      this.#give(connection, event)
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

  #give(connection: Connection, event: KeptEvent): void {
    if (connection.response.destroyed || connection.response.writableEnded) return
    writeEvent(connection.response, event.message, this.#idOf(event.number))
    connection.given = event.number
    this.#given = Math.max(this.#given, event.number)
  }

  /** However slow the reader is. */
  #giveAll(): void {
    const connection = this.#connection
    if (!connection) return
    for (const event of this.#eventsAfter(connection.given))
      if (event.weight !== 'notice') this.#give(connection, event)
    if (this.isFinished) connection.response.end()
  }

  #delivered(connection: Connection): void {
    if (this.#connection === connection && this.isFinished && connection.given === this.#last)
      this.#deliveredAt = this.#options.now()
  }

  #eventsAfter(number: number): readonly KeptEvent[] {
    return this.#events.slice(this.#events.findLastIndex((event) => event.number <= number) + 1)
  }

  #keep(events: KeptEvent[]): void {
    const before = this.#bytes
    this.#events = events
    this.#bytes = this.#notices = this.#noticeBytes = 0
    for (const event of events) {
      this.#bytes += event.bytes
      this.#count(event, 1)
    }
    if (this.#bytes !== before) this.#options.onKept(this.#bytes - before)
  }

  #count({ weight, bytes }: KeptEvent, sign: 1 | -1): void {
    if (weight !== 'notice') return
    this.#notices += sign
    this.#noticeBytes += sign * bytes
  }

  #eventOf(message: WireMessage, weight: Weight, number: number): KeptEvent {
    return { number, at: this.#options.now(), weight, bytes: messageBytes(message) + EVENT_WEIGHT, message }
  }

  #idOf(number: number): string {
    return `${this.#options.name}-${number}`
  }
}

/** What it has not read is told again from where it was: much of it need not wait for a reader that was given up. */
function dismiss(response: ServerResponse): void {
  if (response.writableLength > SMALL) response.destroy()
  else response.end()
}

/** A piece of what a server sent holds on to all that came with it; what is small is copied instead. */
function compact(message: WireMessage): WireMessage {
  if (message.every((piece) => typeof piece === 'string')) return message
  const bytes = messageBytes(message)
  if (bytes > SMALL) return message
  const copy = Buffer.allocUnsafeSlow(bytes)
  let at = 0
  for (const piece of message) at += typeof piece === 'string' ? copy.write(piece, at) : piece.copy(copy, at)
  return [copy]
}
