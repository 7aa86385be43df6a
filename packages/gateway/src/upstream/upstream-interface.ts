import type { Era, SallyportEvent } from '@sallyport/core'
import type { ClientCall } from './link/outgoing-call.ts'
import type { ServerCatalog } from './server-catalog.ts'
import type { Frame } from './transport.ts'
import type { UpstreamConfig } from './upstream-config.ts'
import type { UpstreamStatus } from './upstream-status.ts'

/** What the server answered, and in which era it speaks. */
export interface UpstreamReply {
  readonly frame: Frame
  readonly era: Era
}

export interface UpstreamListener {
  onCatalog(catalogue: ServerCatalog): void
  onEvent(event: SallyportEvent): void
}

/** `over`: nobody will use what was kept for it. */
export type ConversationEvent = 'notifications/roots/list_changed' | 'over'

/** A server behind the gateway, whatever it runs on and whatever state it is in. */
export interface Upstream {
  readonly config: UpstreamConfig
  status(): UpstreamStatus
  start(): void
  request(call: ClientCall): Promise<UpstreamReply>
  /** A client's conversation with us has something to say to the servers that it has to itself. */
  notifyConversation(conversation: string, notification: ConversationEvent): void
  close(): Promise<void>
}

/** A server over one connection, and who relies on being told of its resources there. */
export interface UpstreamConnection extends Upstream {
  readonly watch: {
    readonly isHeld: boolean
    dismiss(): void
  }
}
