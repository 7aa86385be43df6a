import type { SallyportError } from '@sallyport/core'

/** How long an approver waits until the call is sent, and then whether it fails immediately. */
const SENT_TIMEOUT_MS = 5_000
const FAILURE_WINDOW_MS = 250
const NOT_SENT = 'it was not sent yet, since its server may still be starting.'

/** Why an approved call was not made; `undefined` if it was made. */
type NotMade = string | undefined

type State = { readonly kind: 'waiting' | 'sent' } | { readonly kind: 'ended'; readonly callError: NotMade }

/** Follows a call after its approval, so that the approver learns if it was not made. */
export class CallTracker {
  #state: State = { kind: 'waiting' }
  readonly #listeners = new Set<() => void>()

  /** The call was sent to its server. */
  markSent(): void {
    if (this.#state.kind === 'waiting') this.#setState({ kind: 'sent' })
  }

  /** The call has ended. `error`: it failed or was not made. */
  markEnded(error?: SallyportError): void {
    this.#end(error?.message)
  }

  /** No call is waiting any more. The answer is retained until the agent repeats the call. */
  markDeferred(): void {
    this.#end('its agent does not wait for it, and has to make the same call again.')
  }

  /** From now on, this tracker has the same state as the other one. */
  follow(other: CallTracker): void {
    const update = (): void => this.#setState(other.#state)
    other.#listeners.add(update)
    update()
  }

  /** Waits, for a limited time, until it is known whether the call was made. */
  waitForResult(): Promise<NotMade> {
    return new Promise((resolve) => {
      const done = (callError: NotMade): void => {
        clearTimeout(timer)
        this.#listeners.delete(update)
        resolve(callError)
      }
      const update = (): void => {
        if (this.#state.kind === 'ended') return done(this.#state.callError)
        if (this.#state.kind === 'waiting') return
        clearTimeout(timer)
        timer = setTimeout(() => done(undefined), FAILURE_WINDOW_MS)
      }
      let timer = setTimeout(() => done(NOT_SENT), SENT_TIMEOUT_MS)
      this.#listeners.add(update)
      update()
    })
  }

  #end(callError: NotMade): void {
    if (this.#state.kind !== 'ended') this.#setState({ kind: 'ended', callError })
  }

  #setState(state: State): void {
    this.#state = state
    for (const listener of this.#listeners) listener()
  }
}
