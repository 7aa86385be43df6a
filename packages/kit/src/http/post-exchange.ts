import type { ServerResponse } from 'node:http'
import { isJsonObject } from '@sallyport/core'

/** Beyond this, a slow reader gets no more notifications, so that they do not fill our memory. */
const MAX_UNREAD_BYTES = 1_000_000
const KEEP_ALIVE_MS = 25_000
/** A connection that accepts no data for this long has no reader. */
const UNREAD_TIMEOUT_MS = 120_000
/** After this the response is started: clients and proxies give up on a response that does not begin. */
const STREAM_START_MS = 10_000

export interface PostExchangeOptions {
  readonly acceptsStream: boolean
  /** Maps an error code to the HTTP status. */
  readonly toHttpStatus: (code: unknown) => number
  readonly headers?: Readonly<Record<string, string>>
}

/** One POST and its answer: plain JSON, or an event stream if something is sent before the answer. */
export class PostExchange {
  readonly #response: ServerResponse
  readonly #options: PostExchangeOptions
  readonly #streamTimer: NodeJS.Timeout | undefined

  constructor(response: ServerResponse, options: PostExchangeOptions) {
    this.#response = response
    this.#options = options
    if (options.acceptsStream) this.#streamTimer = setTimeout(() => this.#beginStream(), STREAM_START_MS).unref()
    response.once('close', () => clearTimeout(this.#streamTimer))
  }

  /** The client still waits for the answer. */
  get isAwaited(): boolean {
    return !isEnded(this.#response)
  }

  /** Sends a message before the answer. Returns false if it cannot be delivered. */
  notify(message: object): boolean {
    if (!this.#options.acceptsStream || isEnded(this.#response)) return false
    this.#beginStream()
    return writeEvent(this.#response, message)
  }

  answer(message: object): void {
    // Serialized before anything is written: if it throws, the response must still be unused.
    const text = JSON.stringify(message)
    clearTimeout(this.#streamTimer)
    if (isEnded(this.#response)) return
    if (this.#response.headersSent) this.#response.end(formatEvent(text))
    else this.#answerJson(text, chooseStatus(message, this.#options))
    this.#response.setTimeout(UNREAD_TIMEOUT_MS, () => this.#response.destroy())
  }

  /** No answer will come. */
  drop(status: 202 | 404): void {
    clearTimeout(this.#streamTimer)
    if (isEnded(this.#response)) return
    if (this.#response.headersSent) this.#response.end()
    else this.#response.writeHead(status, { 'content-length': 0 }).end()
  }

  #answerJson(text: string, status: number): void {
    const length = Buffer.byteLength(text)
    const head = { 'content-type': 'application/json', 'content-length': length, ...this.#options.headers }
    this.#response.writeHead(status, head).end(text)
  }

  #beginStream(): void {
    clearTimeout(this.#streamTimer)
    beginStream(this.#response, this.#options.headers)
  }
}

export function beginStream(response: ServerResponse, headers: Readonly<Record<string, string>> = {}): void {
  if (isEnded(response) || response.headersSent) return
  // Some proxies buffer streams without this header.
  const head = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' }
  response.writeHead(200, { ...head, ...headers }).flushHeaders()
  response.setTimeout(UNREAD_TIMEOUT_MS, () => response.destroy())
  const timer = setInterval(() => isEnded(response) || response.write(': still here\n\n'), KEEP_ALIVE_MS).unref()
  response.once('close', () => clearInterval(timer))
}

/** Writes an event to a stream. If too much is unread, notifications are dropped, but not requests or answers. */
export function writeEvent(response: ServerResponse, message: object): boolean {
  if (isEnded(response)) return false
  const text = JSON.stringify(message)
  if (!('id' in message) && response.writableLength > MAX_UNREAD_BYTES) return false
  response.write(formatEvent(text))
  return true
}

const formatEvent = (text: string): string => `event: message\ndata: ${text}\n\n`

const isEnded = (response: ServerResponse): boolean => response.destroyed || response.writableEnded

function chooseStatus(message: object, { toHttpStatus }: PostExchangeOptions): number {
  return 'error' in message && isJsonObject(message.error) ? toHttpStatus(message.error.code) : 200
}
