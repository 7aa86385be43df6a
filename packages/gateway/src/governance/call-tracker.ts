import type { SallyportError } from '@sallyport/core'

/** How long an approver waits to hear that the call was sent, and then that it did not fail at once. */
const SENT_TIMEOUT_MS = 5_000
const FAILURE_WINDOW_MS = 250
const NOT_SENT = 'it was not sent yet: its server may still be starting'

/** Why an approved call was not made; undefined when it was. */
type NotMade = string | undefined

type State = { readonly kind: 'waiting' | 'sent' } | { readonly kind: 'ended'; readonly notMade: NotMade }

/** Follows a call after its approval, so that nobody is told of a call that was not made. */
export class CallTracker {
  #state: State = { kind: 'waiting' }
  readonly #listeners = new Set<() => void>()

  /** It is on its way to its server. */
  markSent(): void {
    if (this.#state.kind === 'waiting') this.#setState({ kind: 'sent' })
  }

  /** It is over; `error` where it failed, or was not made at all. */
  markEnded(error?: SallyportError): void {
    this.#end(error?.message)
  }

  /** Nobody waits for it now, and the answer is kept for the call that its agent makes again. */
  markDeferred(): void {
    this.#end('its agent gave up waiting: it is made when the agent makes the same call again')
  }

  /** What becomes of another is what becomes of this one. */
  follow(other: CallTracker): void {
    const look = (): void => this.#setState(other.#state)
    other.#listeners.add(look)
    look()
  }

  /** Waits until it is known whether the call was made, within reason. */
  waitForResult(): Promise<NotMade> {
    return new Promise((resolve) => {
      const done = (notMade: NotMade): void => {
        clearTimeout(timer)
        this.#listeners.delete(look)
        resolve(notMade)
      }
      const look = (): void => {
        if (this.#state.kind === 'ended') return done(this.#state.notMade)
        if (this.#state.kind === 'waiting') return
        clearTimeout(timer)
        timer = setTimeout(() => done(undefined), FAILURE_WINDOW_MS)
      }
      let timer = setTimeout(() => done(NOT_SENT), SENT_TIMEOUT_MS)
      this.#listeners.add(look)
      look()
    })
  }

  #end(notMade: NotMade): void {
    if (this.#state.kind !== 'ended') this.#setState({ kind: 'ended', notMade })
  }

  #setState(state: State): void {
    this.#state = state
    for (const listener of this.#listeners) listener()
  }
}
