export interface IdleTimerOptions {
  /** Without a time it never tells. */
  readonly after: number | undefined
  readonly idleFor: () => number
  readonly onIdle: () => void
}

/** Tells when nothing has happened for a while. It looks when the time may be over: what happens costs nothing. */
export class IdleTimer {
  readonly #options: IdleTimerOptions
  #timer: NodeJS.Timeout | undefined

  constructor(options: IdleTimerOptions) {
    this.#options = options
  }

  start(): void {
    const { after } = this.#options
    if (after !== undefined) this.#look(after, after)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }

  #look(after: number, delay: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      const left = after - this.#options.idleFor()
      if (left > 0) this.#look(after, left)
      else this.#options.onIdle()
    }, delay)
  }
}
