import type { ServerResponse } from 'node:http'
import { type JsonObject, SallyportError } from '@sallyport/core'
import { eventKindOf } from '../http/event-stream.ts'
import { errorMessage, notificationMessage, type WireMessage } from '../rpc/wire-message.ts'
import type { ReplayBudget, ReplayBuffer } from './replay-budget.ts'
import { ResumableStream } from './resumable-stream.ts'

export interface SessionStreamsOptions {
  readonly sessionId: string
  readonly protocolVersion: string
  readonly budget: ReplayBudget
  readonly now: () => number
}

/** The first version whose clients know an event that carries nothing but an id. */
const PRIMING_VERSION = '2025-11-25'
/** Calls that have ended and whose answers are kept yet. */
const MAX_FINISHED = 64
/** In milliseconds: so long a client may take to come back. */
const MAX_ABSENCE_MS = 30_000
/** The stream that a client opens to listen; those of calls are numbered from 1. */
const LISTENER_STREAM = 0

/** The event streams of one session: each keeps its own messages, and none is told what belongs to another. */
export class SessionStreams implements ReplayBuffer {
  readonly #options: SessionStreamsOptions
  readonly #streams = new Map<number, ResumableStream>()
  #lastStream = LISTENER_STREAM
  /** Its numbers go on when the stream was forgotten and is opened anew: no id comes twice. */
  #lastListenerEvent = 0
  #bytes = 0
  #isClosed = false

  constructor(options: SessionStreamsOptions) {
    this.#options = options
  }

  get bytes(): number {
    return this.#bytes
  }

  get isConnected(): boolean {
    return [...this.#streams.values()].some(({ connection }) => connection)
  }

  /** Whether somebody listens, or was there just now and may come back. */
  get isListening(): boolean {
    const stream = this.#streams.get(LISTENER_STREAM)
    return stream !== undefined && stream.absenceMs <= MAX_ABSENCE_MS
  }

  /** For a client that listens, or has listened and may come back. False when it will not be heard. */
  send(message: JsonObject): boolean {
    const stream = this.#streams.get(LISTENER_STREAM)
    const weight = eventKindOf(message)
    // Somebody waits for the answer to a request: it is not put to a client that has been away for long.
    if (!stream || (weight === 'request' && !this.isListening)) return false
    const event = notificationMessage(message)
    return stream.isPending(event) || stream.send(event, weight)
  }

  /** The stream of a call, on the connection that it came over. */
  open(response: ServerResponse, requestId: string | number): ResumableStream {
    const stream = this.#create(++this.#lastStream, () => lostAnswer(requestId))
    stream.connect(response, 0)
    return stream
  }

  /** Answers a GET: goes on with the stream of that event, or listens from now on where there is no such stream. */
  listen(response: ServerResponse, lastEventId: string | undefined): void {
    const headers = { 'mcp-session-id': this.#options.sessionId }
    const { number, after } = this.#parseEventId(lastEventId) ?? {
      number: LISTENER_STREAM,
      after: this.#lastEventNumber(LISTENER_STREAM),
    }
    const stream = this.#streams.get(number) ?? (number === LISTENER_STREAM ? this.#create(LISTENER_STREAM) : undefined)
    if (stream && !(stream.isFinished && after === stream.last)) return stream.connect(response, after, headers)
    // Nothing follows: this is how a reader of events is told not to come back (HTML, 9.2.5).
    this.#remove(number)
    response.writeHead(204, headers).end()
  }

  close(): void {
    this.#isClosed = true
    this.#streams.get(LISTENER_STREAM)?.end()
    for (const number of [...this.#streams.keys()]) this.#remove(number)
  }

  shrink(most: number): void {
    const streams = [...this.#streams]
    for (const [number, { isDelivered }] of streams) if (this.#bytes > most && isDelivered) this.#remove(number)
    for (const [, stream] of streams) if (this.#bytes > most) stream.forgetNotices()
    for (const [, stream] of streams) if (this.#bytes > most) stream.releaseMemory()
  }

  forgetStale(): void {
    for (const [number, stream] of [...this.#streams]) {
      if (stream.isStale) this.#remove(number)
      else stream.forgetOld()
    }
  }

  #create(number: number, lost?: () => WireMessage): ResumableStream {
    const { sessionId, protocolVersion, now } = this.#options
    const stream = new ResumableStream({
      name: `${sessionTag(sessionId)}-${number}`,
      sendsPrimingEvent: protocolVersion >= PRIMING_VERSION,
      now,
      onBytesChange: (difference) => this.#addBytes(stream, difference),
      ...(lost ? { lost } : { after: this.#lastListenerEvent }),
    })
    if (!this.#isClosed) this.#streams.set(number, stream)
    return stream
  }

  #addBytes(stream: ResumableStream, difference: number): void {
    this.#bytes += difference
    this.#options.budget.changed(this, difference)
    // Whoever still waits for an answer when the session ends gets it, and nobody can resume it.
    if (this.#isClosed && difference > 0) stream.forget()
    else if (stream.isFinished) this.#limitFinished()
  }

  #limitFinished(): void {
    const finished = [...this.#streams].filter(([, stream]) => stream.isFinished && !stream.connection)
    const surplus = finished.length - MAX_FINISHED
    if (surplus <= 0) return
    const delivered = finished.filter(([, stream]) => stream.isDelivered)
    const [oldest] = [...delivered, ...finished]
    if (oldest) this.#remove(oldest[0])
  }

  #remove(number: number): void {
    const stream = this.#streams.get(number)
    this.#streams.delete(number)
    if (stream && number === LISTENER_STREAM) this.#lastListenerEvent = stream.last
    stream?.forget()
  }

  /** An id of another session, or one that was never given, names nothing. */
  #parseEventId(id = ''): { readonly number: number; readonly after: number } | undefined {
    const [, tag, number, after] = /^([0-9a-f]{8})-(\d{1,15})-(\d{1,15})$/.exec(id) ?? []
    if (tag !== sessionTag(this.#options.sessionId) || Number(number) > this.#lastStream) return undefined
    const event = { number: Number(number), after: Number(after) }
    return event.after > this.#lastEventNumber(event.number) ? undefined : event
  }

  /** The number of a stream's newest event. What a forgotten call said last is not known any more. */
  #lastEventNumber(number: number): number {
    return this.#streams.get(number)?.last ?? (number === LISTENER_STREAM ? this.#lastListenerEvent : Infinity)
  }
}

/** Enough to tell the ids of a client's former sessions from those of this one. */
const sessionTag = (sessionId: string): string => sessionId.slice(0, 8)

function lostAnswer(requestId: string | number): WireMessage {
  const error = new SallyportError('RESULT_WITHHELD', 'The call has ended, but its answer was too large to be kept.', {
    hint: 'The connection broke before it could be delivered.',
  })
  return errorMessage(requestId, { code: error.kind.rpc, message: error.text, data: { code: error.code } })
}
