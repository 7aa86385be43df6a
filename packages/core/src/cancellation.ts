import { SallyportError } from './errors.ts'

/** Says that an answer is no longer wanted. Lighter than an AbortSignal: one per call, one listener. */
export class Cancellation {
  #reason: string | undefined
  #listener: ((reason: string) => void) | undefined

  get reason(): string | undefined {
    return this.#reason
  }

  /** Runs at once when it already happened. A later listener replaces an earlier one. */
  onCancel(listener: ((reason: string) => void) | undefined): void {
    this.#listener = listener
    if (this.#reason !== undefined) listener?.(this.#reason)
  }

  cancel(reason: string): void {
    if (this.#reason !== undefined) return
    this.#reason = reason
    this.#listener?.(reason)
  }
}

/** How a call ends that nobody waits for any more. */
export const callCancelledError = (reason: string, reach: 'sent' | 'unsent' = 'unsent'): SallyportError =>
  new SallyportError('CALL_CANCELLED', `Cancelled: ${reason}.`, {
    hint: reach === 'sent' ? MAY_HAVE_RUN_HINT : 'It was not sent to its server.',
  })

/** For a call that reached its server, whose outcome nobody knows. */
export const MAY_HAVE_RUN_HINT =
  'It may have been carried out all the same: check what it did before you make it again.'
