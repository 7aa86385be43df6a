import { type Cancellation, callCancelledError } from '@sallyport/core'

/** Calls that wait while their server starts. */
export class StartWaiters {
  readonly #waiters = new Set<() => void>()

  /** Resolves when the start has succeeded or failed, or after `timeoutMs`, if there is one; the state shows which. */
  wait(timeoutMs: number | undefined, cancellation: Cancellation | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        clearTimeout(timer)
        this.#waiters.delete(wake)
        cancellation?.onCancel(undefined)
      }
      const wake = (): void => {
        leave()
        resolve()
      }
      const timer = timeoutMs === undefined ? undefined : setTimeout(wake, timeoutMs)
      this.#waiters.add(wake)
      cancellation?.onCancel((reason) => {
        leave()
        reject(callCancelledError(reason))
      })
    })
  }

  wakeAll(): void {
    for (const wake of [...this.#waiters]) wake()
  }
}
