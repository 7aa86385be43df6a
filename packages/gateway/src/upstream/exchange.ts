import type { Cancellation, JsonObject, SallyportError } from '@sallyport/core'
import type { Client, Question, QuestionAnswer } from './client.ts'
import type { Frame } from './transport.ts'

export interface LinkRequest {
  readonly method: string
  readonly params: JsonObject
  /** The tool, prompt or URI it is about. Only what a client asked for has one. */
  readonly name?: string | undefined
  /** What HTTP repeats of it in the modern era, names and values in turn. */
  readonly headers?: readonly string[] | undefined
  /** What `_meta` says of its trace in the modern era. */
  readonly trace?: JsonObject | undefined
  readonly client?: Client | undefined
  /** Puts a question of the server to that client. */
  readonly ask?: ((question: Question) => Promise<QuestionAnswer>) | undefined
  /** Without progress, and at the most, in milliseconds. */
  readonly timeout: number
  readonly maximum: number
  readonly cancellation?: Cancellation | undefined
  readonly onProgress?: ((progress: JsonObject) => void) | undefined
}

export interface ExchangeEnd {
  readonly resolve: (frame: Frame) => void
  readonly reject: (error: SallyportError) => void
  /** So many milliseconds have passed, which is the limit. */
  readonly onLate: (limit: number) => void
}

/** A request that waits for its answer, and the time that it has. */
export class Exchange {
  readonly request: LinkRequest
  readonly #end: ExchangeEnd
  #deadline: number
  #timer: NodeJS.Timeout | undefined
  #lastTimer: NodeJS.Timeout | undefined
  #questions = 0
  #pausedAt = 0

  constructor(request: LinkRequest, end: ExchangeEnd) {
    this.request = request
    this.#end = end
    this.#deadline = performance.now() + request.maximum
    this.#begin()
  }

  resolve(frame: Frame): void {
    this.#end.resolve(frame)
  }

  reject(error: SallyportError): void {
    this.#end.reject(error)
  }

  /** Progress gives it time again, up to its maximum. */
  progressed(): void {
    if (this.#questions > 0) return
    this.#timer?.refresh()
    const { maximum } = this.request
    this.#lastTimer ??= setTimeout(() => this.#end.onLate(maximum), this.#deadline - performance.now())
  }

  /** A person is asked, and may take minutes: that is not the server's time. */
  pause(): void {
    if (this.#questions++ > 0) return
    this.#pausedAt = performance.now()
    this.stop()
  }

  resume(): void {
    if (--this.#questions > 0) return
    this.#deadline += performance.now() - this.#pausedAt
    this.#begin()
  }

  /** Nobody waits any more. */
  stop(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#lastTimer)
    this.#lastTimer = undefined
  }

  #begin(): void {
    const { timeout } = this.request
    this.#timer = setTimeout(() => this.#end.onLate(timeout), timeout)
  }
}
