import type { JsonObject, SallyportError } from '@sallyport/core'
import type { EncodedRequest } from '../transport.ts'
import type { UpstreamReply } from '../upstream-interface.ts'
import type { Deadlines } from './deadlines.ts'
import type { OutgoingCall } from './outgoing-call.ts'

/** How long an answer may take: without progress, and at most, in milliseconds. */
export interface CallTimeouts {
  readonly timeout: number
  readonly maximum: number
}

/** A limit of its own replaces the server's; the total limit of a call stays. */
export function timeoutsFor({ limit }: Pick<OutgoingCall, 'limit'>, usual: CallTimeouts): CallTimeouts {
  if (limit === undefined) return usual
  return { timeout: Math.min(limit.timeout, usual.maximum), maximum: usual.maximum }
}

export interface PendingRequestOptions {
  readonly id: number
  readonly call: OutgoingCall
  readonly text: string
  readonly currentText?: EncodedRequest['currentText']
  readonly timeouts: CallTimeouts
  readonly resolve: (reply: UpstreamReply | Promise<UpstreamReply>) => void
  readonly reject: (error: SallyportError) => void
  readonly deadlines: Pick<Deadlines, 'schedule'>
}

/** The allowed rate of progress of one call. Nobody can read more; after a pause the latest follows. */
const PROGRESS_RATE = { burst: 1_000, perSecond: 100 }
const NEVER = Number.POSITIVE_INFINITY

/** A request that waits for its answer, and its deadlines. */
export class PendingRequest implements EncodedRequest {
  readonly id: number
  readonly call: OutgoingCall
  readonly text: string
  readonly currentText: EncodedRequest['currentText']
  readonly resolve: (reply: UpstreamReply | Promise<UpstreamReply>) => void
  readonly reject: (error: SallyportError) => void
  readonly #timeouts: CallTimeouts
  readonly #deadlines: PendingRequestOptions['deadlines']
  #timeoutAt = NEVER
  #deadline: number
  #openQuestions = 0
  #isOver = false
  #progress = Number.NEGATIVE_INFINITY
  #pausedAt = 0
  /** Created on demand: most calls report no progress. */
  #progressLimit: RateLimit | undefined
  #unsentProgress: JsonObject | undefined

  constructor({ id, call, text, currentText, timeouts, resolve, reject, deadlines }: PendingRequestOptions) {
    this.id = id
    this.call = call
    this.text = text
    this.currentText = currentText
    this.resolve = resolve
    this.reject = reject
    this.#timeouts = timeouts
    this.#deadlines = deadlines
    const now = performance.now()
    this.#deadline = now + timeouts.maximum
    this.#restartClock(now)
  }

  /** When it times out. */
  get timeoutAt(): number {
    return this.#timeoutAt
  }

  /** Which of its limits that is, in milliseconds. */
  get limit(): number {
    return this.#timeoutAt === this.#deadline ? this.#timeouts.maximum : this.#timeouts.timeout
  }

  /**
   * Whether progress does not decrease, as the protocol requires. The same value may come again with another message.
   */
  advanceTo(progress: number): boolean {
    if (progress < this.#progress) return false
    this.#progress = progress
    return true
  }

  /** Progress extends the deadline, up to the maximum. Returns false if there was too much of it to be passed on. */
  reportProgress(progress: JsonObject): boolean {
    if (this.#openQuestions === 0 && !this.#isOver) this.#restartClock(performance.now())
    const { onProgress } = this.call
    if (!onProgress) return true
    this.#progressLimit ??= new RateLimit(PROGRESS_RATE)
    const mayPass = this.#progressLimit.take()
    this.#unsentProgress = mayPass ? undefined : progress
    if (mayPass) onProgress(progress)
    return mayPass
  }

  /** The last progress, if it was left out. */
  flushProgress(): void {
    if (this.#unsentProgress) this.call.onProgress?.(this.#unsentProgress)
    this.#unsentProgress = undefined
  }

  /** Stops the clock while a person is asked, which may take minutes: that is not the server's time. */
  pause(): void {
    if (this.#openQuestions++ > 0) return
    this.#pausedAt = performance.now()
    this.#timeoutAt = NEVER
  }

  /** Restarts the limit without progress. The total time of the server stays limited, however often it asks. */
  resume(): void {
    if (--this.#openQuestions > 0 || this.#isOver) return
    const now = performance.now()
    this.#deadline += now - this.#pausedAt
    this.#restartClock(now)
  }

  /** Nobody waits any more. */
  stop(): void {
    this.#isOver = true
    this.#timeoutAt = NEVER
  }

  #restartClock(now: number): void {
    this.#timeoutAt = Math.min(now + this.#timeouts.timeout, this.#deadline)
    this.#deadlines.schedule(this.#timeoutAt)
  }
}

interface RateLimitOptions {
  /** How many may pass at once. */
  readonly burst: number
  /** How many may pass in a second in the long run. */
  readonly perSecond: number
}

/** Whether one more may pass: a token bucket that is full at first and refills over time. */
export class RateLimit {
  readonly #options: RateLimitOptions
  #left: number
  #filledAt = performance.now()

  constructor(options: RateLimitOptions) {
    this.#options = options
    this.#left = options.burst
  }

  take(): boolean {
    const { burst, perSecond } = this.#options
    const now = performance.now()
    this.#left = Math.min(burst, this.#left + ((now - this.#filledAt) / 1_000) * perSecond)
    this.#filledAt = now
    if (this.#left < 1) return false
    this.#left--
    return true
  }
}
