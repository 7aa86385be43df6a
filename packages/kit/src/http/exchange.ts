import type { ServerResponse } from 'node:http'
import { isJsonObject } from '@sallyport/core'

/** A client that reads so slowly gets fewer notices instead of our memory. */
const MOST_UNREAD = 1_000_000
const KEEP_ALIVE_MS = 25_000
/** A connection over which nothing can be written for so long has no reader. */
const UNREAD_MS = 120_000
/** Clients and proxies give up on an answer that does not begin. */
const SILENCE_MS = 10_000

export interface ExchangeOptions {
  readonly acceptsStream: boolean
  /** The HTTP status that goes with an error's code. */
  readonly statusOf: (code: unknown) => number
  readonly headers?: Readonly<Record<string, string>>
}

/** One POST and its answer: plain JSON, or an event stream where something is said before the answer. */
export class Exchange {
  readonly #response: ServerResponse
  readonly #options: ExchangeOptions
  readonly #silence: NodeJS.Timeout | undefined

  constructor(response: ServerResponse, options: ExchangeOptions) {
    this.#response = response
    this.#options = options
    if (options.acceptsStream) this.#silence = setTimeout(() => this.#begin(), SILENCE_MS).unref()
    response.once('close', () => clearTimeout(this.#silence))
  }

  /** Somebody waits for the answer. */
  get isAwaited(): boolean {
    return !isOver(this.#response)
  }

  /** Says something before the answer. False when it cannot arrive. */
  tell(message: object): boolean {
    if (!this.#options.acceptsStream || isOver(this.#response)) return false
    this.#begin()
    return tellOn(this.#response, message)
  }

  answer(message: object): void {
    // Made before anything is written: a result that JSON cannot carry must still find a clean response.
    const text = JSON.stringify(message)
    clearTimeout(this.#silence)
    if (isOver(this.#response)) return
    if (this.#response.headersSent) this.#response.end(eventOf(text))
    else this.#answerPlainly(text, statusFor(message, this.#options))
    this.#response.setTimeout(UNREAD_MS, () => this.#response.destroy())
  }

  /** No answer will come. */
  drop(status: 202 | 404): void {
    clearTimeout(this.#silence)
    if (isOver(this.#response)) return
    if (this.#response.headersSent) this.#response.end()
    else this.#response.writeHead(status, { 'content-length': 0 }).end()
  }

  #answerPlainly(text: string, status: number): void {
    const length = Buffer.byteLength(text)
    const head = { 'content-type': 'application/json', 'content-length': length, ...this.#options.headers }
    this.#response.writeHead(status, head).end(text)
  }

  #begin(): void {
    clearTimeout(this.#silence)
    beginStream(this.#response, this.#options.headers)
  }
}

export function beginStream(response: ServerResponse, headers: Readonly<Record<string, string>> = {}): void {
  if (isOver(response) || response.headersSent) return
  // Some proxies hold streams back unless they are told not to.
  const head = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache', 'x-accel-buffering': 'no' }
  response.writeHead(200, { ...head, ...headers }).flushHeaders()
  response.setTimeout(UNREAD_MS, () => response.destroy())
  const timer = setInterval(() => isOver(response) || response.write(': still here\n\n'), KEEP_ALIVE_MS).unref()
  response.once('close', () => clearInterval(timer))
}

/** Writes an event to a stream. A notice gives way where too much is unread; a request that waits for its answer does not. */
export function tellOn(response: ServerResponse, message: object): boolean {
  if (isOver(response)) return false
  const text = JSON.stringify(message)
  if (!('id' in message) && response.writableLength > MOST_UNREAD) return false
  response.write(eventOf(text))
  return true
}

const eventOf = (text: string): string => `event: message\ndata: ${text}\n\n`

const isOver = (response: ServerResponse): boolean => response.destroyed || response.writableEnded

function statusFor(message: object, { statusOf }: ExchangeOptions): number {
  return 'error' in message && isJsonObject(message.error) ? statusOf(message.error.code) : 200
}
