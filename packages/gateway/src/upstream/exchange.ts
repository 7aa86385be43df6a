import type { SallyportError } from '@sallyport/core'
import type { LinkRequest } from './link-request.ts'
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
  /** So many milliseconds have passed, which is the limit. */
  readonly onLate: (id: number, limit: number) => void
}

/** A request that waits for its answer, and the time that it has. */
export class Exchange {
  readonly id: number
  readonly request: LinkRequest
  readonly resolve: (reply: UpstreamReply) => void
  readonly reject: (error: SallyportError) => void
  readonly #patience: Patience
  readonly #onLate: ExchangeOptions['onLate']
  #deadline: number
  #timer: NodeJS.Timeout
  #lastTimer: NodeJS.Timeout | undefined
  #questions = 0
  #isOver = false
  #pausedAt = 0

  constructor({ id, request, patience, resolve, reject, onLate }: ExchangeOptions) {
    this.id = id
    this.request = request
    this.resolve = resolve
    this.reject = reject
    this.#patience = patience
    this.#onLate = onLate
    this.#deadline = performance.now() + patience.maximum
    this.#timer = this.#begin(patience.timeout)
  }

  /** Progress gives it time again, up to its maximum. */
  progressed(): void {
    if (this.#questions > 0) return
    this.#timer.refresh()
    const { maximum } = this.#patience
    this.#lastTimer ??= setTimeout(this.#onLate, this.#deadline - performance.now(), this.id, maximum)
  }

  /** A person is asked, and may take minutes: that is not the server's time. */
  pause(): void {
    if (this.#questions++ > 0) return
    this.#pausedAt = performance.now()
    this.#halt()
  }

  /** The time for one step begins anew; all that the server takes together stays limited, however often it asks. */
  resume(): void {
    if (--this.#questions > 0 || this.#isOver) return
    const now = performance.now()
    this.#deadline += now - this.#pausedAt
    this.#timer = this.#begin(Math.min(this.#patience.timeout, Math.max(0, this.#deadline - now)))
  }

  /** Nobody waits any more. */
  stop(): void {
    this.#isOver = true
    this.#halt()
  }

  #halt(): void {
    clearTimeout(this.#timer)
    clearTimeout(this.#lastTimer)
    this.#lastTimer = undefined
  }

  #begin(time: number): NodeJS.Timeout {
    const { timeout, maximum } = this.#patience
    return setTimeout(this.#onLate, time, this.id, time < timeout ? maximum : timeout)
  }
}
