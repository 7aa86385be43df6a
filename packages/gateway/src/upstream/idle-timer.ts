interface IdleTimerOptions {
  /** If missing, it never fires. */
  readonly afterMs: number | undefined
  readonly idleFor: () => number
  readonly onIdle: () => void
}

/** Fires when nothing has happened for a while. It checks only when the time may be over, so activity costs nothing. */
export class IdleTimer {
  readonly #options: IdleTimerOptions
  #timer: NodeJS.Timeout | undefined

  constructor(options: IdleTimerOptions) {
    this.#options = options
  }

  start(): void {
    const { afterMs } = this.#options
    if (afterMs !== undefined) this.#schedule(afterMs, afterMs)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #schedule(after: number, delay: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      const left = after - this.#options.idleFor()
      if (left > 0) this.#schedule(after, left)
      else this.#options.onIdle()
    }, delay)
  }
}
