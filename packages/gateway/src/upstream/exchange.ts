import type { JsonObject, SallyportError } from '@sallyport/core'
import type { Deadlines } from './deadlines.ts'
import type { LinkRequest } from './link-request.ts'
import { RateLimit } from './rate-limit.ts'
import type { UpstreamReply } from './server-behind.ts'

/** How long an answer may take: without progress, and at the most, in milliseconds. */
export interface Patience {
  readonly timeout: number
  readonly maximum: number
}

/** A limit of its own takes the place of the server's; what all of a call may take stays. */
export function patienceFor({ limit }: Pick<LinkRequest, 'limit'>, usual: Patience): Patience {
  if (limit === undefined) return usual
  return { timeout: Math.min(limit.timeout, usual.maximum), maximum: usual.maximum }
}

export interface ExchangeOptions {
  readonly id: number
  readonly request: LinkRequest
  readonly patience: Patience
  readonly resolve: (reply: UpstreamReply) => void
  readonly reject: (error: SallyportError) => void
  readonly deadlines: Pick<Deadlines, 'note'>
}

/** Of one call. Nobody can read more, and what is left out is followed by the latest. */
const PROGRESS_RATE = { burst: 1_000, perSecond: 100 }
const NEVER = Number.POSITIVE_INFINITY

/** A request that waits for its answer, and the time that it has. */
export class Exchange {
  readonly id: number
  readonly request: LinkRequest
  readonly resolve: (reply: UpstreamReply) => void
  readonly reject: (error: SallyportError) => void
  readonly #patience: Patience
  readonly #deadlines: ExchangeOptions['deadlines']
  #lateAt = NEVER
  #deadline: number
  #questions = 0
  #isOver = false
  #pausedAt = 0
  /** Most calls tell of no progress. */
  #progressRate: RateLimit | undefined
  #unsent: JsonObject | undefined

  constructor({ id, request, patience, resolve, reject, deadlines }: ExchangeOptions) {
    this.id = id
    this.request = request
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

  /** Progress gives it time again, up to its maximum. False where there was too much of it to be passed on. */
  progressed(progress: JsonObject): boolean {
    if (this.#questions === 0 && !this.#isOver) this.#begin(performance.now())
    const { onProgress } = this.request
    if (!onProgress) return true
    this.#progressRate ??= new RateLimit(PROGRESS_RATE)
    const mayPass = this.#progressRate.take()
    this.#unsent = mayPass ? undefined : progress
    if (mayPass) onProgress(progress)
    return mayPass
  }

  /** How far it came in the end, where that was left out. */
  tellLast(): void {
    if (this.#unsent) this.request.onProgress?.(this.#unsent)
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
