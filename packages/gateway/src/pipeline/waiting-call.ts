import { callCancelledError, type JsonObject, type SallyportError } from '@sallyport/core'
import { CallTracker } from '../governance/governance.ts'
import type { Call } from './call.ts'

/** Well below the minute after which many clients give up on a call that makes no progress. */
const PROGRESS_INTERVAL_MS = 15_000
const PROGRESS_STEP = 1e-6

/** A call while it waits for a person: its client is told so, and one that went away is noticed. */
export class WaitingCall {
  /** The call as it goes on afterwards: what its server reports comes after what we said, and not below it. */
  readonly call: Call
  readonly fate: CallTracker = new CallTracker()
  readonly #onProgress: Call['onProgress']
  #timer: NodeJS.Timeout | undefined
  #reported = 0
  #wasClientGone = false

  constructor(asked: Call) {
    const { onProgress } = asked
    this.#onProgress = onProgress
    this.call = {
      ...asked,
      onSent: () => this.fate.markSent(),
      ...(onProgress && { onProgress: (told: JsonObject) => this.#isHigher(told) && onProgress(told) }),
    }
  }

  begin(): void {
    this.#reportProgress()
    this.#timer = setInterval(() => this.#checkClient(), PROGRESS_INTERVAL_MS).unref()
  }

  end(): void {
    clearInterval(this.#timer)
  }

  /** Why it is too late to make the call, though somebody has approved it. */
  get abandoned(): SallyportError | undefined {
    return this.#isClientGone
      ? callCancelledError('the client closed its connection before the call was approved')
      : undefined
  }

  get #isClientGone(): boolean {
    return this.call.isAwaited?.() === false
  }

  /** Who lost a connection has until the next look to come back on another. */
  #checkClient(): void {
    if (!this.#isClientGone) this.#reportProgress()
    else if (this.#wasClientGone) this.call.cancellation.cancel('the client closed its connection')
    this.#wasClientGone = this.#isClientGone
  }

  #reportProgress(): void {
    this.#reported += PROGRESS_STEP
    this.#onProgress?.({ progress: this.#reported, message: 'waiting for approval' })
  }

  /** The protocol wants each report to be higher than the one before. */
  #isHigher({ progress }: JsonObject): boolean {
    return this.#reported === 0 || typeof progress !== 'number' || progress > this.#reported
  }
}
