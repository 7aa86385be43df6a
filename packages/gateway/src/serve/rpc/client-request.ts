import type { Cancellation, Era, JsonObject, Principal } from '@sallyport/core'
import type { Client, ResourceSubscription } from '../../upstream/upstream.ts'
import type { Carrier } from './carrier.ts'
import type { ClientSubscriptions } from './client-subscriptions.ts'
import type { WireMessage } from './wire-message.ts'

/** A request of a client, over any transport. */
export interface ClientRequest {
  readonly id: string | number
  readonly method: string
  readonly params: JsonObject
  readonly principal: Principal
  readonly era: Era
  readonly cancellation: Cancellation
  /** Whether the client can still get the answer. Missing if a disconnect cancels the call. */
  readonly isAwaited?: (() => boolean) | undefined
  /** The HTTP request; missing for other transports. */
  readonly carrier?: Carrier | undefined
  /** The caller. Messages to it go onto this request's own stream, before the answer. */
  readonly client: Client
  /** The resource subscriptions of this legacy session. */
  readonly subscriptions?: ClientSubscriptions | undefined
  /** For `resources/subscribe`: the subscription that is to be created. */
  readonly subscription?: ResourceSubscription | undefined
}

/** Sends messages about a request to its client, before the answer. */
export interface ClientChannel {
  /** Sends a notification, or a request that the client will answer. Returns false if it cannot reach the client. */
  notify(message: JsonObject): boolean
}

export interface Reply {
  readonly message: WireMessage
  /** The HTTP status: the modern era defines one for some errors. */
  readonly status: number
  /** The server returned a result. */
  readonly granted?: boolean
}
