import { callCancelled, type JsonObject, type SallyportError } from '@sallyport/core'
import { CallFate } from '../governance/governance.ts'
import type { Call } from './call.ts'

/** Well below the minute after which many clients give up on a call that makes no progress. */
const EVERY = 15_000
const STEP = 1e-6

/** A call while it waits for a person: its client is told so, and one that went away is noticed. */
export class WaitingCall {
  /** The call as it goes on afterwards: what its server reports comes after what we said, and not below it. */
  readonly call: Call
  readonly fate: CallFate = new CallFate()
  readonly #onProgress: Call['onProgress']
  #timer: NodeJS.Timeout | undefined
  #told = 0
  #wasAlone = false

  constructor(asked: Call) {
    const { onProgress } = asked
    this.#onProgress = onProgress
    this.call = {
      ...asked,
      onSent: () => this.fate.sent(),
      ...(onProgress && { onProgress: (told: JsonObject) => this.#isHigher(told) && onProgress(told) }),
    }
  }

  begin(): void {
    this.#tell()
    this.#timer = setInterval(() => this.#look(), EVERY).unref()
  }

  end(): void {
    clearInterval(this.#timer)
  }

  /** Why it is too late to make the call, though somebody has approved it. */
  get abandoned(): SallyportError | undefined {
    return this.#isAlone ? callCancelled('the client closed its connection before the call was approved') : undefined
  }

  get #isAlone(): boolean {
    return this.call.isAwaited?.() === false
  }

  /** Who lost a connection has until the next look to come back on another. */
  #look(): void {
    if (!this.#isAlone) this.#tell()
    else if (this.#wasAlone) this.call.cancellation.cancel('the client closed its connection')
    this.#wasAlone = this.#isAlone
  }

  #tell(): void {
    this.#told += STEP
    this.#onProgress?.({ progress: this.#told, message: 'waiting for approval' })
  }

  /** The protocol wants each report to be higher than the one before. */
  #isHigher({ progress }: JsonObject): boolean {
    return this.#told === 0 || typeof progress !== 'number' || progress > this.#told
  }
}
