import type { Cancellation, Era, JsonObject, Principal, SallyportError } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import type { Client, Frame, ResourceSubscription } from '../upstream/upstream.ts'

/** One request for something on offer, on its way through the pipeline. */
export interface Call {
  readonly id: string
  readonly traceId: string
  readonly principal: Principal
  /** `tools/call`, `resources/read`, `prompts/get`, … */
  readonly method: string
  readonly offer: Offer
  /** What it is about where that is not the offer itself: a task that the tool made. */
  readonly subject?: string | undefined
  /** What the server will get, under its own names. */
  readonly params: JsonObject
  /** What its caller wants to know of the result; it is none of the server's business. */
  readonly intent?: string | undefined
  /** A sub-agent of an isolated call makes it: its result goes to nobody else. */
  readonly isFromSubAgent?: true
  /** Who can be asked and told things while it runs; none where a program of ours calls. */
  readonly client?: Client | undefined
  /** What the client sent in headers of the protocol and we do not know, names and values in turn. */
  readonly headers?: readonly string[] | undefined
  /** The trace context that came with the transport and not with the message. */
  readonly trace?: JsonObject | undefined
  /** Our own part in the trace, for the server: there only where we take part. */
  readonly span?: JsonObject | undefined
  /** What the request came over; none where a program of ours calls. */
  readonly carrier?: 'http' | 'lines' | undefined
  readonly cancellation: Cancellation
  /** Whether its client can still get the answer; nothing where its leaving is a cancellation. */
  readonly isAwaited?: (() => boolean) | undefined
  readonly onProgress?: ((progress: JsonObject) => void) | undefined
  /** Somebody has approved it, and wants to know that it is on its way. */
  readonly onSent?: (() => void) | undefined
  /** With `resources/subscribe`: whom to tell, and until when. */
  readonly subscription?: ResourceSubscription | undefined
}

/** The one answer of a call: what the server said, as its bytes, or why it said nothing. */
export type Answer =
  | { readonly kind: 'frame'; readonly frame: Frame; readonly era: Era }
  /** `meta`: what the client is told of it besides, where there is more to tell. */
  | { readonly kind: 'failure'; readonly error: SallyportError; readonly meta?: JsonObject }

/** Whether it looks after a task that a call of the tool made. */
export const isAboutTask = ({ offer, method }: Pick<Call, 'offer' | 'method'>): boolean =>
  offer.kind === 'tool' && method.startsWith('tasks/')
