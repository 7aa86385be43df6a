import type { JsonObject, SallyportError } from '@sallyport/core'
import type { EncodedRequest } from '../transport.ts'
import type { UpstreamReply } from '../upstream-interface.ts'
import type { Deadlines } from './deadlines.ts'
import type { OutgoingCall } from './outgoing-call.ts'

/** How long an answer may take: without progress, and at the most, in milliseconds. */
export interface CallTimeouts {
  readonly timeout: number
  readonly maximum: number
}

/** A limit of its own takes the place of the server's; what all of a call may take stays. */
export function timeoutsFor({ limit }: Pick<OutgoingCall, 'limit'>, usual: CallTimeouts): CallTimeouts {
  if (limit === undefined) return usual
  return { timeout: Math.min(limit.timeout, usual.maximum), maximum: usual.maximum }
}

export interface PendingRequestOptions {
  readonly id: number
  readonly call: OutgoingCall
  readonly text: string
  readonly timeouts: CallTimeouts
  readonly resolve: (reply: UpstreamReply) => void
  readonly reject: (error: SallyportError) => void
  readonly deadlines: Pick<Deadlines, 'schedule'>
}

/** Of one call. Nobody can read more, and what is left out is followed by the latest. */
const PROGRESS_RATE = { burst: 1_000, perSecond: 100 }
const NEVER = Number.POSITIVE_INFINITY

/** A request that waits for its answer, and the time that it has. */
export class PendingRequest implements EncodedRequest {
  readonly id: number
  readonly call: OutgoingCall
  readonly text: string
  readonly resolve: (reply: UpstreamReply) => void
  readonly reject: (error: SallyportError) => void
  readonly #timeouts: CallTimeouts
  readonly #deadlines: PendingRequestOptions['deadlines']
  #timeoutAt = NEVER
  #deadline: number
  #openQuestions = 0
  #isOver = false
  #progress = Number.NEGATIVE_INFINITY
  #pausedAt = 0
  /** Most calls tell of no progress. */
  #progressLimit: RateLimit | undefined
  #unsentProgress: JsonObject | undefined

  constructor({ id, call, text, timeouts, resolve, reject, deadlines }: PendingRequestOptions) {
    this.id = id
    this.call = call
    this.text = text
    this.resolve = resolve
    this.reject = reject
    this.#timeouts = timeouts
    this.#deadlines = deadlines
    const now = performance.now()
    this.#deadline = now + timeouts.maximum
    this.#restartClock(now)
  }

  /** When it will have taken too long. */
  get timeoutAt(): number {
    return this.#timeoutAt
  }

  /** Which of its limits that is, in milliseconds. */
  get limit(): number {
    return this.#timeoutAt === this.#deadline ? this.#timeouts.maximum : this.#timeouts.timeout
  }

  /** Whether progress does not go back: the protocol has it grow. The same once more may have another message. */
  advanceTo(progress: number): boolean {
    if (progress < this.#progress) return false
    this.#progress = progress
    return true
  }

  /** Progress gives it time again, up to its maximum. False where there was too much of it to be passed on. */
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

  /** How far it came in the end, where that was left out. */
  flushProgress(): void {
    if (this.#unsentProgress) this.call.onProgress?.(this.#unsentProgress)
    this.#unsentProgress = undefined
  }

  /** A person is asked, and may take minutes: that is not the server's time. */
  pause(): void {
    if (this.#openQuestions++ > 0) return
    this.#pausedAt = performance.now()
    this.#timeoutAt = NEVER
  }

  /** The time for one step begins anew; all that the server takes together stays limited, however often it asks. */
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
  /** So many at once. */
  readonly burst: number
  /** So many a second in the long run. */
  readonly perSecond: number
}

/** Whether one more may pass: a full bucket at first, refilled as time goes by. */
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
