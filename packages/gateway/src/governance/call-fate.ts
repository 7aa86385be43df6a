import type { SallyportError } from '@sallyport/core'

/** How long an approver waits to hear that the call was sent, and then that it did not fail at once. */
const SENT_WITHIN = 5_000
const FAILS_WITHIN = 250
const NOT_SENT = 'it was not sent yet: its server may still be starting'

/** Why an approved call was not made; undefined when it was. */
type NotMade = string | undefined

type State = { readonly kind: 'waiting' | 'sent' } | { readonly kind: 'ended'; readonly notMade: NotMade }

/** Follows a call after its approval, so that nobody is told of a call that was not made. */
export class CallFate {
  #state: State = { kind: 'waiting' }
  readonly #listeners = new Set<() => void>()

  /** It is on its way to its server. */
  sent(): void {
    if (this.#state.kind === 'waiting') this.#become({ kind: 'sent' })
  }

  /** It is over; `error` where it failed, or was not made at all. */
  ended(error?: SallyportError): void {
    this.#end(error?.message)
  }

  /** Nobody waits for it now, and the answer is kept for the call that its agent makes again. */
  kept(): void {
    this.#end('its agent gave up waiting: it is made when the agent makes the same call again')
  }

  /** What becomes of another is what becomes of this one. */
  follow(other: CallFate): void {
    const look = (): void => this.#become(other.#state)
    other.#listeners.add(look)
    look()
  }

  /** Waits until it is known whether the call was made, within reason. */
  report(): Promise<NotMade> {
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
        timer = setTimeout(() => done(undefined), FAILS_WITHIN)
      }
      let timer = setTimeout(() => done(NOT_SENT), SENT_WITHIN)
      this.#listeners.add(look)
      look()
    })
  }

  #end(notMade: NotMade): void {
    if (this.#state.kind !== 'ended') this.#become({ kind: 'ended', notMade })
  }

  #become(state: State): void {
    this.#state = state
    for (const listener of this.#listeners) listener()
  }
}
