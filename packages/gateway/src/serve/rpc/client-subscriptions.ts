import { type JsonObject, SallyportError } from '@sallyport/core'
import { ResourceSubscription, type SubscriptionEvents } from '../../upstream/upstream.ts'

/** Limit for the resource subscriptions of one client. */
export const MAX_SUBSCRIBED_RESOURCES = 1_000

/** The resource subscriptions of one client, and how to notify it. */
export class ClientSubscriptions {
  readonly notify: (notification: JsonObject) => void
  readonly #granted = new Map<string, ResourceSubscription>()
  /** Requested, but not granted yet. They count for the limit: a client may request many at once. */
  readonly #pending = new Set<ResourceSubscription>()
  #isClosed = false

  constructor(notify: (notification: JsonObject) => void) {
    this.notify = notify
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
        `This client subscribes to ${MAX_SUBSCRIBED_RESOURCES} resources, which is the limit.`,
        {
          hint: 'Unsubscribe from what is no longer needed.',
        },
      )
    const subscription = new ResourceSubscription(uri, events)
    this.#pending.add(subscription)
    if (this.#isClosed) subscription.end()
    return subscription
  }

  /** Marks it as granted. An earlier one for the same resource ends only now, so that the server does not unsubscribe in between. */
  grant(subscription: ResourceSubscription): void {
    this.#pending.delete(subscription)
    if (subscription.hasEnded) return
    const former = this.#granted.get(subscription.uri)
    this.#granted.set(subscription.uri, subscription)
    former?.end()
  }

  /** Ends a subscription that was not granted. */
  discard(subscription: ResourceSubscription): void {
    this.#pending.delete(subscription)
    if (this.has(subscription)) this.#granted.delete(subscription.uri)
    subscription.end()
  }

  /** Ends the client's subscription to a resource, granted or not. */
  end(uri: string): void {
    for (const subscription of [...this.#pending]) if (subscription.uri === uri) this.discard(subscription)
    const granted = this.#granted.get(uri)
    if (granted) this.discard(granted)
  }

  close(): void {
    this.#isClosed = true
    for (const subscription of [...this.#pending, ...this.#granted.values()]) subscription.end()
    this.#pending.clear()
    this.#granted.clear()
  }
}
