import type { Era, SallyportEvent } from '@sallyport/core'
import type { ClientCall } from './link/outgoing-call.ts'
import type { ServerCatalog } from './server-catalog.ts'
import type { Frame } from './transport.ts'
import type { UpstreamConfig } from './upstream-config.ts'
import type { UpstreamStatus } from './upstream-status.ts'

/** The server's answer, and the era that it speaks. */
export interface UpstreamReply {
  readonly frame: Frame
  readonly era: Era
}

export interface UpstreamListener {
  onCatalog(catalog: ServerCatalog): void
  onEvent(event: SallyportEvent): void
}

/** `over`: nobody will use the conversation again. */
export type ConversationEvent = 'notifications/roots/list_changed' | 'over'

/** A server behind the gateway, of any kind and in any state. */
export interface Upstream {
  readonly config: UpstreamConfig
  status(): UpstreamStatus
  start(): void
  request(call: ClientCall): Promise<UpstreamReply>
  /** An event of a client's conversation, for the connections that belong to it alone. */
  notifyConversation(conversation: string, notification: ConversationEvent): void
  close(): Promise<void>
}

/** A server over one connection, and the subscriptions on it. */
export interface UpstreamConnection extends Upstream {
  readonly watch: {
    readonly isHeld: boolean
    dismiss(): void
  }
}
