import { SallyportError } from './errors.ts'

/** Signals that nobody waits for the answer any more. Lighter than an AbortSignal: one per call, one listener. */
export class Cancellation {
  #reason: string | undefined
  #listener: ((reason: string) => void) | undefined

  get reason(): string | undefined {
    return this.#reason
  }

  /** If the call is already cancelled, the listener runs at once. A later listener replaces an earlier one. */
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

/** The error of a cancelled call. */
export const callCancelledError = (reason: string, reach: 'sent' | 'unsent' = 'unsent'): SallyportError =>
  new SallyportError('CALL_CANCELLED', `Cancelled: ${reason}.`, {
    hint: reach === 'sent' ? MAY_HAVE_RUN_HINT : 'It was not sent to its server.',
  })

/** For a call that reached its server and whose outcome is unknown. */
export const MAY_HAVE_RUN_HINT = 'It may have been carried out anyway: check what it did before you repeat it.'
