import { callCancelledError, type JsonObject, type SallyportError } from '@sallyport/core'
import { CallTracker } from '../governance/governance.ts'
import type { Call } from './call.ts'

/** Well below the minute after which many clients give up on a call that makes no progress. */
const PROGRESS_INTERVAL_MS = 15_000
const PROGRESS_STEP = 1e-6

/** A call that waits for a person. It reports progress to its client, and notices if the client is gone. */
export class WaitingCall {
  /** The call that continues after approval. Progress of its server is passed on only if it is higher than ours. */
  readonly call: Call
  readonly tracker: CallTracker = new CallTracker()
  readonly #onProgress: Call['onProgress']
  #timer: NodeJS.Timeout | undefined
  #reported = 0
  #wasClientGone = false

  constructor(asked: Call) {
    const { onProgress } = asked
    this.#onProgress = onProgress
    this.call = {
      ...asked,
      onSent: () => this.tracker.markSent(),
      ...(onProgress && { onProgress: (progress: JsonObject) => this.#isHigher(progress) && onProgress(progress) }),
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

  /** A client that lost its connection has until the next check to reconnect. */
  #checkClient(): void {
    if (!this.#isClientGone) this.#reportProgress()
    else if (this.#wasClientGone) this.call.cancellation.cancel('the client closed its connection')
    this.#wasClientGone = this.#isClientGone
  }

  #reportProgress(): void {
    this.#reported += PROGRESS_STEP
    this.#onProgress?.({ progress: this.#reported, message: 'waiting for approval' })
  }

  /** The protocol requires each progress value to be higher than the one before. */
  #isHigher({ progress }: JsonObject): boolean {
    return this.#reported === 0 || typeof progress !== 'number' || progress > this.#reported
  }
}
