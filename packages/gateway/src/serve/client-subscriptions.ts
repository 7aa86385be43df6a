import { type JsonObject, SallyportError } from '@sallyport/core'
import { ResourceSubscription, type SubscriptionEvents } from '../upstream/upstream.ts'

/** So many resources can one client hear of. */
export const MAX_RESOURCES = 1_000

/** The resources that one client wants to hear of, and the way to tell it. */
export class ClientSubscriptions {
  readonly tell: (notification: JsonObject) => void
  readonly #kept = new Map<string, ResourceSubscription>()
  /** Those that are still being asked for count too: many could be asked for at once. */
  readonly #asked = new Set<ResourceSubscription>()
  #isClosed = false

  constructor(tell: (notification: JsonObject) => void) {
    this.tell = tell
  }

  get size(): number {
    return this.#kept.size
  }

  holds(subscription: ResourceSubscription): boolean {
    return this.#kept.get(subscription.uri) === subscription
  }

  begin(uri: string, events: SubscriptionEvents): ResourceSubscription {
    if (!this.#kept.has(uri) && this.#kept.size + this.#asked.size >= MAX_RESOURCES)
      throw new SallyportError('OVERLOADED', `This client subscribes to ${MAX_RESOURCES} resources, the most it may.`, {
        hint: 'Unsubscribe from what is no longer needed.',
      })
    const subscription = new ResourceSubscription(uri, events)
    this.#asked.add(subscription)
    if (this.#isClosed) subscription.end()
    return subscription
  }

  /** It was granted. One for the same resource ends only now, so that the server is not left in between. */
  keep(subscription: ResourceSubscription): void {
    this.#asked.delete(subscription)
    if (subscription.hasEnded) return
    const former = this.#kept.get(subscription.uri)
    this.#kept.set(subscription.uri, subscription)
    former?.end()
  }

  /** It was not granted. */
  discard(subscription: ResourceSubscription): void {
    this.#asked.delete(subscription)
    if (this.holds(subscription)) this.#kept.delete(subscription.uri)
    subscription.end()
  }

  /** The client wants to hear of it no longer, whether it was granted already or not. */
  end(uri: string): void {
    for (const subscription of [...this.#asked]) if (subscription.uri === uri) this.discard(subscription)
    const kept = this.#kept.get(uri)
    if (kept) this.discard(kept)
  }

  close(): void {
    this.#isClosed = true
    for (const subscription of [...this.#asked, ...this.#kept.values()]) subscription.end()
    this.#asked.clear()
    this.#kept.clear()
  }
}
