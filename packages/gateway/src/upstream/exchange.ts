import type { JsonObject, SallyportError } from '@sallyport/core'
import type { Deadlines } from './deadlines.ts'
import type { OutgoingCall } from './outgoing-call.ts'
import { RateLimit } from './rate-limit.ts'
import type { UpstreamReply } from './server-behind.ts'
import type { OutgoingRequest } from './transport.ts'

/** How long an answer may take: without progress, and at the most, in milliseconds. */
export interface Patience {
  readonly timeout: number
  readonly maximum: number
}

/** A limit of its own takes the place of the server's; what all of a call may take stays. */
export function patienceFor({ limit }: Pick<OutgoingCall, 'limit'>, usual: Patience): Patience {
  if (limit === undefined) return usual
  return { timeout: Math.min(limit.timeout, usual.maximum), maximum: usual.maximum }
}

export interface ExchangeOptions {
  readonly id: number
  readonly call: OutgoingCall
  readonly text: string
  readonly patience: Patience
  readonly resolve: (reply: UpstreamReply) => void
  readonly reject: (error: SallyportError) => void
  readonly deadlines: Pick<Deadlines, 'note'>
}

/** Of one call. Nobody can read more, and what is left out is followed by the latest. */
const PROGRESS_RATE = { burst: 1_000, perSecond: 100 }
const NEVER = Number.POSITIVE_INFINITY

/** A request that waits for its answer, and the time that it has. */
export class Exchange implements OutgoingRequest {
  readonly id: number
  readonly call: OutgoingCall
  readonly text: string
  readonly resolve: (reply: UpstreamReply) => void
  readonly reject: (error: SallyportError) => void
  readonly #patience: Patience
  readonly #deadlines: ExchangeOptions['deadlines']
  #lateAt = NEVER
  #deadline: number
  #questions = 0
  #isOver = false
  #progress = Number.NEGATIVE_INFINITY
  #pausedAt = 0
  /** Most calls tell of no progress. */
  #progressRate: RateLimit | undefined
  #unsent: JsonObject | undefined

  constructor({ id, call, text, patience, resolve, reject, deadlines }: ExchangeOptions) {
    this.id = id
    this.call = call
    this.text = text
    this.resolve = resolve
    this.reject = reject
    this.#patience = patience
    this.#deadlines = deadlines
    const now = performance.now()
    this.#deadline = now + patience.maximum
    this.#begin(now)
  }

  /** When it will have taken too long. */
  get lateAt(): number {
    return this.#lateAt
  }

  /** Which of its limits that is, in milliseconds. */
  get limit(): number {
    return this.#lateAt === this.#deadline ? this.#patience.maximum : this.#patience.timeout
  }

  /** Whether progress does not go back: the protocol has it grow. The same once more may have another message. */
  isOnward(progress: number): boolean {
    if (progress < this.#progress) return false
    this.#progress = progress
    return true
  }

  /** Progress gives it time again, up to its maximum. False where there was too much of it to be passed on. */
  progressed(progress: JsonObject): boolean {
    if (this.#questions === 0 && !this.#isOver) this.#begin(performance.now())
    const { onProgress } = this.call
    if (!onProgress) return true
    this.#progressRate ??= new RateLimit(PROGRESS_RATE)
    const mayPass = this.#progressRate.take()
    this.#unsent = mayPass ? undefined : progress
    if (mayPass) onProgress(progress)
    return mayPass
  }

  /** How far it came in the end, where that was left out. */
  tellLast(): void {
    if (this.#unsent) this.call.onProgress?.(this.#unsent)
    this.#unsent = undefined
  }

  /** A person is asked, and may take minutes: that is not the server's time. */
  pause(): void {
    if (this.#questions++ > 0) return
    this.#pausedAt = performance.now()
    this.#lateAt = NEVER
  }

  /** The time for one step begins anew; all that the server takes together stays limited, however often it asks. */
  resume(): void {
    if (--this.#questions > 0 || this.#isOver) return
    const now = performance.now()
    this.#deadline += now - this.#pausedAt
    this.#begin(now)
  }

  /** Nobody waits any more. */
  stop(): void {
    this.#isOver = true
    this.#lateAt = NEVER
  }

  #begin(now: number): void {
    this.#lateAt = Math.min(now + this.#patience.timeout, this.#deadline)
    this.#deadlines.note(this.#lateAt)
  }
}
