import { type Cancellation, callCancelledError } from '@sallyport/core'

/** Where calls wait while their server starts. */
export class StartWaiters {
  readonly #waiters = new Set<() => void>()

  /** Resolves when the start has ended, well or badly, or when `patience` has run out; the state tells which. */
  wait(patience: number, cancellation: Cancellation | undefined): Promise<void> {
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
      const timer = setTimeout(wake, patience)
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
