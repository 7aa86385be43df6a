/** Tells when nothing has happened for a while. Without a time it never does. */
export class IdleTimer {
  readonly #after: number | undefined
  readonly #onIdle: () => void
  #timer: NodeJS.Timeout | undefined

  constructor(after: number | undefined, onIdle: () => void) {
    this.#after = after
    this.#onIdle = onIdle
  }

  /** Something happened. */
  restart(): void {
    if (this.#after === undefined) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#onIdle, this.#after)
  }

  stop(): void {
    clearTimeout(this.#timer)
  }
}
