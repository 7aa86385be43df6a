import type { Cancellation, JsonObject } from '@sallyport/core'
import type { AskClient, Client } from '../client.ts'
import type { Permit } from '../permit.ts'
import type { ResourceSubscription } from '../resource-subscription.ts'

/** How long a request may take without progress, where somebody has said so for just this. */
export interface CallLimit {
  /** In milliseconds. */
  readonly timeout: number
  /** Where that is said, for whoever waits longer than that. */
  readonly setBy: string
}

/** One request to a server, the same object from the pipeline down to the transport that writes it. */
export interface OutgoingCall {
  readonly method: string
  readonly params: JsonObject
  /** Checked by the transport right before the request is written. */
  readonly permit: Permit
  /** The tool, prompt or URI it is about: HTTP repeats it in a header. Only what a client asked for has one. */
  readonly name?: string | undefined
  /** Further headers for HTTP in the modern era, names and values in turn, as they go over the wire. */
  readonly headers?: readonly string[] | undefined
  /** What `_meta` says of its trace in the modern era. */
  readonly trace?: JsonObject | undefined
  /** What `_meta` says of its trace in both eras, in place of all else: we take part in it ourselves. */
  readonly span?: JsonObject | undefined
  /** User and session: a server in our own process is told, and servers that must not be shared have a process for each. */
  readonly session?: string | undefined
  /** For whom it is asked; undefined where a program of ours asks. */
  readonly client?: Client | undefined
  /** Puts a question of the server to that client. */
  readonly ask?: AskClient | undefined
  /** Puts to the same client what a server asks outside of its calls. */
  readonly askStanding?: AskClient | undefined
  /** In place of the server's own. */
  readonly limit?: CallLimit | undefined
  readonly cancellation?: Cancellation | undefined
  readonly onProgress?: ((progress: JsonObject) => void) | undefined
  /** An entry lets keys and tokens pass, also in what the server reports while it runs. */
  readonly mayTellSecrets?: boolean | undefined
  /** Only values of a schema go back to its client: no words of the server reach it, while it runs or later. */
  readonly isQuarantined?: boolean | undefined
  /** It does not count as a use of the server: an unused one may stop meanwhile. */
  readonly isBackground?: boolean | undefined
  /** With `resources/subscribe`: whom to notify, and until when. */
  readonly subscription?: ResourceSubscription | undefined
  /** Under which id it goes out: what the server says of it refers to that. */
  readonly onSent?: ((id: number) => void) | undefined
}

/** What a client asks of a server. */
export type ClientCall = OutgoingCall & { readonly name: string; readonly session: string }

/** What the gateway asks by itself. */
export type GatewayCall = Omit<OutgoingCall, 'permit'>
