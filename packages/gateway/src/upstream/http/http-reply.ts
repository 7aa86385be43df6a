import type { SallyportError } from '@sallyport/core'
import { type FrameOutcome, FrameReader } from '../answers/frame-reader.ts'
import type { Frame } from '../transport.ts'
import type { HttpEndpoint } from './http-endpoint.ts'
import type { HttpExchangeListener } from './http-exchange.ts'
import { quoteBody, statusFailure, unexpectedBody } from './http-failure.ts'
import { classifyReply, type ReplyKind } from './reply-kind.ts'
import type { ResponseHeaders } from './response-head.ts'
import { SseParser } from './sse-parser.ts'

/** How a response ended. */
export type ReplyEnd =
  /** Normally; its content was reported as frames. */
  | { readonly kind: 'done' }
  /** With a status or a body that is not an answer. `frame` is the body, if it is JSON; `sample` is its beginning. */
  | {
      readonly kind: 'refused'
      readonly status: number
      readonly frame: Frame | undefined
      readonly sample: string
      readonly error: SallyportError
    }
  /** The connection failed before the end. */
  | { readonly kind: 'broken'; readonly error: SallyportError }

export interface ReplyListener {
  /** The response is a success; the content of its body follows. */
  onAccepted(headers: ResponseHeaders): void
  onFrame(frame: Frame): void
  onWarning(text: string): void
  /** The current message is over the limit and is dropped. Called once for each message. */
  onTooLarge(): void
  onEnd(end: ReplyEnd): void
}

const MAX_REFUSAL_BYTES = 1_000_000
const SAMPLE_BYTES = 2_048
const EMPTY = Buffer.alloc(0)

/** Reads a response as messages: one in a JSON body, many in an event stream. */
export class HttpReply implements HttpExchangeListener {
  readonly #endpoint: HttpEndpoint
  readonly #listener: ReplyListener
  readonly #limit: number
  #kind: ReplyKind = 'none'
  #status = 0
  #reader: FrameReader
  #parser: SseParser | undefined
  #reportedTooLarge = false
  /** The beginning of a body that is not an answer. */
  #sample: Buffer = EMPTY

  constructor(endpoint: HttpEndpoint, listener: ReplyListener) {
    this.#endpoint = endpoint
    this.#listener = listener
    this.#limit = endpoint.maxMessageBytes
    this.#reader = new FrameReader(this.#limit)
  }

  /** It is an event stream, which may be resumed. */
  get isStream(): boolean {
    return this.#kind === 'events'
  }

  get lastEventId(): string | undefined {
    return this.#parser?.lastEventId
  }

  get retry(): number | undefined {
    return this.#parser?.retry
  }

  onHead(status: number, headers: ResponseHeaders): void {
    this.#status = status
    this.#kind = classifyReply(status, headers)
    if (this.#kind === 'refusal' || this.#kind === 'foreign') {
      this.#reader = new FrameReader(Math.min(this.#limit, MAX_REFUSAL_BYTES))
      return
    }
    if (this.#kind === 'events') {
      this.#parser = new SseParser({
        onData: (piece) => this.#reader.feed(piece),
        onEvent: () => this.#message(this.#reader.finish()),
      })
    }
    this.#listener.onAccepted(headers)
  }

  onBody(chunk: Buffer): void {
    if (this.#kind === 'none') return
    if (this.#parser !== undefined) this.#parser.feed(chunk)
    else this.#reader.feed(chunk)
    if (this.#kind === 'json' || this.#kind === 'events') this.#checkSize(this.#reader.bytes)
    else if (this.#sample.length < SAMPLE_BYTES) {
      this.#sample = Buffer.concat([this.#sample, chunk.subarray(0, SAMPLE_BYTES - this.#sample.length)])
    }
  }

  onEnd(): void {
    if (this.#kind === 'refusal' || this.#kind === 'foreign') {
      this.#listener.onEnd(this.#refusal(this.#reader.finish()))
      return
    }
    if (this.#parser !== undefined) this.#parser.end()
    else this.#message(this.#reader.finish())
    this.#listener.onEnd({ kind: 'done' })
  }

  onError(error: SallyportError): void {
    this.#listener.onEnd({ kind: 'broken', error })
  }

  #message(outcome: FrameOutcome): void {
    if (outcome.kind === 'frame') this.#listener.onFrame(outcome.frame)
    else if (outcome.kind === 'garbage') this.#listener.onWarning(`a message that is not JSON: ${outcome.reason}`)
    else if (outcome.kind === 'oversized') this.#checkSize(outcome.bytes)
    this.#reportedTooLarge = false
  }

  #checkSize(bytes: number): void {
    if (bytes <= this.#limit || this.#reportedTooLarge) return
    this.#reportedTooLarge = true
    this.#listener.onTooLarge()
  }

  #refusal(outcome: FrameOutcome): ReplyEnd {
    const { peer, secrets } = this.#endpoint
    const frame = outcome.kind === 'frame' ? outcome.frame : undefined
    const sample = this.#sampleText()
    const quote = quoteBody(sample, secrets)
    const error = this.#kind === 'foreign' ? unexpectedBody(peer, quote) : statusFailure(this.#status, peer, quote)
    return { kind: 'refused', status: this.#status, frame, sample, error }
  }

  /** Without its last word if it was cut: half a secret would not be recognized as one. */
  #sampleText(): string {
    const text = this.#sample.toString('utf8')
    return this.#sample.length < SAMPLE_BYTES ? text : text.replace(/\S*$/, '')
  }
}
