import type { Era, SallyportEvent } from '@sallyport/core'
import type { AskClient } from './client.ts'
import type { LinkRequest } from './link-request.ts'
import type { ResourceSubscription } from './resource-subscription.ts'
import type { ServerCatalogue } from './server-catalogue.ts'
import type { Frame } from './transport.ts'
import type { UpstreamConfig } from './upstream-config.ts'
import type { UpstreamStatus } from './upstream-status.ts'

/** What a client asks of a server. */
export interface UpstreamRequest extends LinkRequest {
  readonly name: string
  /** Whose work it is, user and session: servers that must not be shared keep one process for each. */
  readonly session: string
  /** Puts to the same client what a server asks outside of its calls. */
  readonly askStanding?: AskClient | undefined
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
