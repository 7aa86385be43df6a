import { type JsonObject, SallyportError } from '@sallyport/core'
import { ResourceSubscription, type SubscriptionEvents } from '../../upstream/upstream.ts'

/** So many resources can one client hear of. */
export const MAX_SUBSCRIBED_RESOURCES = 1_000

/** The resources that one client wants to hear of, and the way to tell it. */
export class ClientSubscriptions {
  readonly notify: (notification: JsonObject) => void
  readonly #granted = new Map<string, ResourceSubscription>()
  /** Those that are still being asked for count too: many could be asked for at once. */
  readonly #pending = new Set<ResourceSubscription>()
  #isClosed = false

  constructor(tell: (notification: JsonObject) => void) {
    this.notify = tell
  }

  get size(): number {
    return this.#granted.size
  }

  has(subscription: ResourceSubscription): boolean {
    return this.#granted.get(subscription.uri) === subscription
  }

  begin(uri: string, events: SubscriptionEvents): ResourceSubscription {
    if (!this.#granted.has(uri) && this.#granted.size + this.#pending.size >= MAX_SUBSCRIBED_RESOURCES)
      throw new SallyportError(
        'OVERLOADED',
        `This client subscribes to ${MAX_SUBSCRIBED_RESOURCES} resources, the most it may.`,
        {
          hint: 'Unsubscribe from what is no longer needed.',
        },
      )
    const subscription = new ResourceSubscription(uri, events)
    this.#pending.add(subscription)
    if (this.#isClosed) subscription.end()
    return subscription
  }

  /** It was granted. One for the same resource ends only now, so that the server is not left in between. */
  grant(subscription: ResourceSubscription): void {
    this.#pending.delete(subscription)
    if (subscription.hasEnded) return
    const former = this.#granted.get(subscription.uri)
    this.#granted.set(subscription.uri, subscription)
    former?.end()
  }

  /** It was not granted. */
  discard(subscription: ResourceSubscription): void {
    this.#pending.delete(subscription)
    if (this.has(subscription)) this.#granted.delete(subscription.uri)
    subscription.end()
  }

  /** The client wants to hear of it no longer, whether it was granted already or not. */
  end(uri: string): void {
    for (const subscription of [...this.#pending]) if (subscription.uri === uri) this.discard(subscription)
    const kept = this.#granted.get(uri)
    if (kept) this.discard(kept)
  }

  close(): void {
    this.#isClosed = true
    for (const subscription of [...this.#pending, ...this.#granted.values()]) subscription.end()
    this.#pending.clear()
    this.#granted.clear()
  }
}
