import type { JsonObject } from '@sallyport/core'

export interface SubscriptionEvents {
  /** The resource, or a part of it, changed: the `params` of the notification. */
  onUpdate(params: JsonObject): void
  /** The server that reported changes is gone for good. */
  onLost(subscription: ResourceSubscription): void
}

/** One client's subscription to one resource. */
export class ResourceSubscription {
  /** As the client names the resource. */
  readonly uri: string
  /** The server's own name for it. */
  serverUri: string
  readonly #events: SubscriptionEvents
  #hasEnded = false
  #release: (() => void) | undefined

  constructor(uri: string, events: SubscriptionEvents) {
    this.uri = uri
    this.serverUri = uri
    this.#events = events
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  update(params: JsonObject): void {
    if (!this.#hasEnded) this.#events.onUpdate(params)
  }

  /** `release` is called once, when the client no longer wants the subscription. */
  onRelease(release: () => void): void {
    this.#release = release
  }

  /** For its holder: the holder no longer serves the subscription. */
  markLost(): void {
    this.#release = undefined
    if (!this.#hasEnded) this.#events.onLost(this)
  }

  end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#release?.()
  }
}
