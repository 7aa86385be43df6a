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

/** The first version whose clients understand an event with only an id. */
const PRIMING_VERSION = '2025-11-25'
/** Limit for finished calls whose answers are still retained. */
const MAX_FINISHED = 64
/** How long a client may take to reconnect and still get requests. */
const MAX_ABSENCE_MS = 30_000
/** The stream that a client opens with GET; the streams of calls are numbered from 1. */
const LISTENER_STREAM = 0

/** The event streams of one session. Each has its own messages, which are never sent on another stream. */
export class SessionStreams implements ReplayBuffer {
  readonly #options: SessionStreamsOptions
  readonly #streams = new Map<number, ResumableStream>()
  #lastStream = LISTENER_STREAM
  /** The numbering continues when the stream was removed and is opened again, so that ids stay unique. */
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

  /** Whether the client listens, or disconnected so recently that it may come back. */
  get isListening(): boolean {
    const stream = this.#streams.get(LISTENER_STREAM)
    return stream !== undefined && stream.absenceMs <= MAX_ABSENCE_MS
  }

  /** Sends to the listening stream, also if its client is away and may come back. Returns false if the message will not arrive. */
  send(message: JsonObject): boolean {
    const stream = this.#streams.get(LISTENER_STREAM)
    const kind = eventKindOf(message)
    // A server waits for the answer to a request, so it is not sent to a client that has been away for long.
    if (!stream || (kind === 'request' && !this.isListening)) return false
    const event = notificationMessage(message)
    return stream.isPending(event) || stream.send(event, kind)
  }

  /** Opens the stream of a call, on the connection of its POST. */
  open(response: ServerResponse, requestId: string | number): ResumableStream {
    const stream = this.#create(++this.#lastStream, () => lostAnswer(requestId))
    stream.connect(response, 0)
    return stream
  }

  /** Answers a GET: resumes the stream of that event, or opens the listening stream if the event is unknown. */
  listen(response: ServerResponse, lastEventId: string | undefined): void {
    const headers = { 'mcp-session-id': this.#options.sessionId }
    const { number, after } = this.#parseEventId(lastEventId) ?? {
      number: LISTENER_STREAM,
      after: this.#lastEventNumber(LISTENER_STREAM),
    }
    const stream = this.#streams.get(number) ?? (number === LISTENER_STREAM ? this.#create(LISTENER_STREAM) : undefined)
    if (stream && !(stream.isFinished && after === stream.last)) return stream.connect(response, after, headers)
    // Nothing follows: 204 tells an event reader not to reconnect (HTML, 9.2.5).
    this.#remove(number)
    response.writeHead(204, headers).end()
  }

  close(): void {
    this.#isClosed = true
    this.#streams.get(LISTENER_STREAM)?.end()
    for (const number of [...this.#streams.keys()]) this.#remove(number)
  }

  shrink(maxBytes: number): void {
    const streams = [...this.#streams]
    for (const [number, { isDelivered }] of streams) if (this.#bytes > maxBytes && isDelivered) this.#remove(number)
    for (const [, stream] of streams) if (this.#bytes > maxBytes) stream.forgetNotices()
    for (const [, stream] of streams) if (this.#bytes > maxBytes) stream.releaseMemory()
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
    // A connection that still waits when the session ends gets its answer, but cannot resume.
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

  /** `undefined` for an id of another session, or one that was never sent. */
  #parseEventId(id = ''): { readonly number: number; readonly after: number } | undefined {
    const [, tag, number, after] = /^([0-9a-f]{8})-(\d{1,15})-(\d{1,15})$/.exec(id) ?? []
    if (tag !== sessionTag(this.#options.sessionId) || Number(number) > this.#lastStream) return undefined
    const event = { number: Number(number), after: Number(after) }
    return event.after > this.#lastEventNumber(event.number) ? undefined : event
  }

  /** The number of a stream's newest event. For a removed call it is unknown, so every number is accepted. */
  #lastEventNumber(number: number): number {
    return this.#streams.get(number)?.last ?? (number === LISTENER_STREAM ? this.#lastListenerEvent : Infinity)
  }
}

/** Long enough to distinguish the event ids of this session from those of the client's earlier sessions. */
const sessionTag = (sessionId: string): string => sessionId.slice(0, 8)

function lostAnswer(requestId: string | number): WireMessage {
  const error = new SallyportError('RESULT_WITHHELD', 'The call has ended, but its answer was too large to be kept.', {
    hint: 'The connection broke before it could be delivered.',
  })
  return errorMessage(requestId, { code: error.kind.rpc, message: error.text, data: { code: error.code } })
}
