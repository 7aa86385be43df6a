import type { Cancellation, Era, JsonObject, SallyportEvent } from '@sallyport/core'
import type { Client, Question, QuestionAnswer } from './client.ts'
import type { ResourceSubscription } from './resource-subscription.ts'
import type { ServerCatalogue } from './server-catalogue.ts'
import type { Frame } from './transport.ts'
import type { UpstreamConfig } from './upstream-config.ts'
import type { UpstreamStatus } from './upstream-status.ts'

export interface UpstreamRequest {
  readonly method: string
  readonly params: JsonObject
  readonly name: string
  /** What HTTP repeats of it in the modern era, names and values in turn. */
  readonly headers?: readonly string[] | undefined
  /** What `_meta` says of its trace in the modern era. */
  readonly trace?: JsonObject | undefined
  /** Whose work it is, user and session: servers that must not be shared keep one process for each. */
  readonly session: string
  /** The client for whom it is made; none where a program of ours asks. */
  readonly client?: Client | undefined
  /** Puts a question of the server to that client. */
  readonly ask?: ((question: Question) => Promise<QuestionAnswer>) | undefined
  readonly cancellation?: Cancellation
  readonly onProgress?: ((progress: JsonObject) => void) | undefined
  /** With `resources/subscribe`: whom to tell, and until when. */
  readonly subscription?: ResourceSubscription | undefined
}

/** What the server answered, and in which era it speaks. */
export interface UpstreamReply {
  readonly frame: Frame
  readonly era: Era
}

export interface UpstreamListener {
  onCatalogue(catalogue: ServerCatalogue): void
  onEvent(event: SallyportEvent): void
}

/** `over`: nobody will use what was kept for it. */
export type ConversationNotice = 'notifications/roots/list_changed' | 'over'

/** A server behind the gateway, whatever it runs on and whatever state it is in. */
export interface Upstream {
  readonly config: UpstreamConfig
  status(): UpstreamStatus
  start(): void
  request(request: UpstreamRequest): Promise<UpstreamReply>
  /** A client's conversation with us has something to say to the servers that it has to itself. */
  tell(conversation: string, notification: ConversationNotice): void
  close(): Promise<void>
}

/** A server over one connection, and who relies on being told of its resources there. */
export interface ConnectedUpstream extends Upstream {
  readonly watch: {
    readonly isHeld: boolean
    dismiss(): void
  }
}
