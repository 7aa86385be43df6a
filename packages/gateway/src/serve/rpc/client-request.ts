import type { Cancellation, Era, JsonObject, Principal } from '@sallyport/core'
import type { Client, ResourceSubscription } from '../../upstream/upstream.ts'
import type { Carrier } from './carrier.ts'
import type { ClientSubscriptions } from './client-subscriptions.ts'
import type { WireMessage } from './wire-message.ts'

/** A request of a client, whatever it came over. */
export interface ClientRequest {
  readonly id: string | number
  readonly method: string
  readonly params: JsonObject
  readonly principal: Principal
  readonly era: Era
  readonly cancellation: Cancellation
  /** Whether the client can still get the answer; nothing where its leaving is a cancellation. */
  readonly isAwaited?: (() => boolean) | undefined
  /** What it came in, where that was HTTP. */
  readonly carrier?: Carrier | undefined
  /** Who asks. What it is told goes onto this request's own stream, before the answer. */
  readonly client: Client
  /** What this legacy session wants to hear of. */
  readonly subscriptions?: ClientSubscriptions | undefined
  /** With `resources/subscribe`: whom to tell, and until when. */
  readonly subscription?: ResourceSubscription | undefined
}

/** Where a client hears what concerns its request, before the answer. */
export interface ClientChannel {
  /** A notification, or a request that the client will answer. False when it cannot reach the client. */
  notify(message: JsonObject): boolean
}

export interface Reply {
  readonly message: WireMessage
  /** For HTTP: the modern era gives some errors a status of their own. */
  readonly status: number
  /** The server gave what was asked for. */
  readonly granted?: boolean
}
