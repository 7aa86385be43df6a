import type { Cancellation, Era, Json, JsonObject, Principal, SallyportError, ServerInstance } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import type { LabelHolder } from '../governance/governance.ts'
import type { Client, Frame, NamedPreset, ResourceSubscription } from '../upstream/upstream.ts'

/** One request for an offer, on its way through the pipeline. */
export interface Call {
  readonly id: string
  readonly traceId: string
  readonly principal: Principal
  /** `tools/call`, `resources/read`, `prompts/get`, … */
  readonly method: string
  readonly offer: Offer
  /** The subject, if it is not the offer itself: the id of a task that the tool created. */
  readonly subject?: string | undefined
  /** For a request about a task, if its server has two instances: the one that made it. */
  readonly taskMadeBy?: ServerInstance | undefined
  /** The parameters for the server, with the server's own names. */
  readonly params: JsonObject
  /** What the caller wants to know from the result. It is not sent to the server. */
  readonly intent?: string | undefined
  /** The arguments as the caller wrote them, if `params` has others. */
  readonly written?: Json | undefined
  /** Set if the sub-agent of an isolated call makes this call. Only the sub-agent sees its result. */
  readonly isFromSubAgent?: true
  /** Whose label decides about the call, if it is not that of the caller's session: the sub-agent of an isolated call. */
  readonly holder?: LabelHolder | undefined
  /** The client, which can be asked questions while the call runs; `undefined` if the gateway's own program calls. */
  readonly client?: Client | undefined
  /** Protocol headers of the client that the gateway does not know: names and values alternate. */
  readonly headers?: readonly string[] | undefined
  /** The trace context from the transport, not from the message. */
  readonly trace?: JsonObject | undefined
  /** The gateway's own span, for the server; `undefined` if the gateway does not trace. */
  readonly span?: JsonObject | undefined
  /** The transport of the request; `undefined` if the gateway's own program calls. */
  readonly carrier?: 'http' | 'lines' | undefined
  readonly cancellation: Cancellation
  /** Whether the client can still get the answer; `undefined` if a disconnect cancels the call. */
  readonly isAwaited?: (() => boolean) | undefined
  readonly onProgress?: ((progress: JsonObject) => void) | undefined
  /** Called when the call was sent, for whoever approved it. */
  readonly onSent?: (() => void) | undefined
  /** With `resources/subscribe`: who gets the updates, and until when. */
  readonly subscription?: ResourceSubscription | undefined
}

/** The answer to a call: the bytes of the server's answer, or an error. */
export type Answer =
  | {
      readonly kind: 'frame'
      readonly frame: Frame
      readonly era: Era
      /** What the server says to the gateway in `_meta` (`sallyport/…`); the frame does not have it any more. */
      readonly claims?: JsonObject | undefined
      /** The preset that the server named for its result. */
      readonly preset?: NamedPreset | undefined
      /** The instance that it came from, if the server has two. */
      readonly instance?: ServerInstance | undefined
    }
  /** `meta`: more information for the client, if there is any. */
  | { readonly kind: 'failure'; readonly error: SallyportError; readonly meta?: JsonObject }

/** Whether the call is about a task that an earlier call of the tool created. */
export const isAboutTask = ({ offer, method }: Pick<Call, 'offer' | 'method'>): boolean =>
  offer.kind === 'tool' && method.startsWith('tasks/')
