import type { Cancellation, JsonObject, NetworkMode, SallyportError, ServerInstance } from '@sallyport/core'
import type { CallEgress } from '../../sandbox/sandbox.ts'
import type { AskClient, Client } from '../client.ts'
import type { Permit } from '../permit.ts'
import type { ResourceSubscription } from '../resource-subscription.ts'
import type { CallerIdentity } from './caller-token.ts'

/** How long a request may take without progress, if that is configured for this offer. */
export interface CallLimit {
  /** In milliseconds. */
  readonly timeout: number
  /** Where the limit is configured, for the error message. */
  readonly setBy: string
}

/** Which instance of a server gets a call, if the server has an isolated one. */
export interface CallRoute {
  /** Whether the session of the call has private data: then only the isolated instance may get it. It never changes back. */
  readonly isPrivate: boolean
  /** The instance that made the task which the call is about. */
  readonly madeBy?: ServerInstance | undefined
  /** Why the isolated instance must not get it; `undefined` if it may. */
  findRefusal(): SallyportError | undefined
  /** This instance gets the call, unless the session becomes private before it is sent. */
  choose(instance: ServerInstance): void
}

/** One request to a server: the same object from the pipeline down to the transport. */
export interface OutgoingCall {
  readonly method: string
  readonly params: JsonObject
  /** Checked by the transport right before the request is written. */
  readonly permit: Permit
  /** The tool, prompt or URI it is about: HTTP repeats it in a header. Only requests of clients have one. */
  readonly name?: string | undefined
  /** Further headers for HTTP in the modern era, names and values in turn, as they go over the wire. */
  readonly headers?: readonly string[] | undefined
  /** The trace context for `_meta` in the modern era. */
  readonly trace?: JsonObject | undefined
  /** The trace context for `_meta` in both eras, instead of the client's: we take part in the trace. */
  readonly span?: JsonObject | undefined
  /**
   * User and session: a server in our own process gets them, and servers that must not be shared have a process for
   * each.
   */
  readonly session?: string | undefined
  /** What the session of the call may reach at this moment, for a process that serves it in a sandbox. */
  readonly networkMode?: (() => NetworkMode) | undefined
  /** Gets what the sandbox of its process refuses while the call is in flight. */
  readonly egress?: CallEgress | undefined
  /** The session ends with this call: nobody uses its process afterwards. */
  readonly endsSession?: boolean | undefined
  /** Who makes the request, for a server that is told so. Requests of the gateway itself have no caller. */
  readonly caller?: CallerIdentity | undefined
  /** The client that asks; `undefined` if the gateway itself asks. */
  readonly client?: Client | undefined
  /** Forwards a question of the server to that client. */
  readonly ask?: AskClient | undefined
  /** Forwards to the same client what a server asks outside of its calls. */
  readonly askStanding?: AskClient | undefined
  /** Overrides the timeout of the server. */
  readonly limit?: CallLimit | undefined
  readonly cancellation?: Cancellation | undefined
  readonly onProgress?: ((progress: JsonObject) => void) | undefined
  /** An entry allows keys and tokens to pass, also in what the server reports while it runs. */
  readonly mayTellSecrets?: boolean | undefined
  /** Only values of a schema go back to its client: no text of the server reaches it, while it runs or later. */
  readonly isQuarantined?: boolean | undefined
  /** It does not count as use of the server: an unused server may stop meanwhile. */
  readonly isBackground?: boolean | undefined
  /** It was sent before, over a session that the server had forgotten. */
  readonly isResent?: boolean | undefined
  /** For `resources/subscribe`: the subscriber, and its lifetime. */
  readonly subscription?: ResourceSubscription | undefined
  /** For a server with an isolated instance. */
  readonly route?: CallRoute | undefined
  /** Called with the id of the request: messages of the server refer to it. */
  readonly onSent?: ((id: number) => void) | undefined
}

/** A request of a client to a server. */
export type ClientCall = OutgoingCall & { readonly name: string; readonly session: string }

/** A request of the gateway itself. */
export type GatewayCall = Omit<OutgoingCall, 'permit'>
