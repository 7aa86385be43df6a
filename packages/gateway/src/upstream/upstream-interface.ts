import type { Era, JsonObject, SallyportEvent } from '@sallyport/core'
import type { NamedPreset } from './answers/named-preset.ts'
import type { ClientCall } from './link/outgoing-call.ts'
import type { ListName, OwnLists } from './own-lists.ts'
import type { ServerCatalog } from './server-catalog.ts'
import type { Frame } from './transport.ts'
import type { UpstreamConfig } from './upstream-config.ts'
import type { UpstreamStatus } from './upstream-status.ts'

/** The server's answer, and the era that it speaks. */
export interface UpstreamReply {
  readonly frame: Frame
  readonly era: Era
  /** What the server says to the gateway in `_meta`, by key (`sallyport/…`). The frame does not have it any more. */
  readonly claims?: JsonObject | undefined
  /** The preset that the server named for its result. */
  readonly preset?: NamedPreset | undefined
}

export interface UpstreamListener {
  onCatalog(catalog: ServerCatalog): void
  /** The server announced a change of these lists, and they were read again, whether they differ or not. */
  onListsAnnounced?(lists: AnnouncedLists): void
  onEvent(event: SallyportEvent): void
  /** The lists of the isolated instance were read. */
  onCounterpartCatalog?(): void
  /** Some clients see other lists of this server than before. */
  onOwnLists?(change: OwnListsChange): void
}

/** A client, and whose request it makes: this decides which connection its requests use. */
export type ListReader = Pick<ClientCall, 'session' | 'client'>

export interface OwnListsChange {
  readonly lists: readonly ListName[]
  readonly concerns: (reader: ListReader) => boolean
}

export interface AnnouncedLists {
  readonly tools: boolean
  readonly resources: boolean
  readonly prompts: boolean
}

/** `over`: nobody will use the conversation again. */
export type ConversationEvent = 'notifications/roots/list_changed' | 'over'

/** The isolated instance of a server: calls of sessions with private data go to it. */
export interface Counterpart {
  readonly config: UpstreamConfig
  /** `undefined` until it has been connected once. */
  readonly catalog: ServerCatalog | undefined
  status(): UpstreamStatus
}

/** A server behind the gateway, of any kind and in any state. */
export interface Upstream {
  readonly config: UpstreamConfig
  /** Most servers have none. */
  readonly counterpart?: Counterpart | undefined
  status(): UpstreamStatus
  start(): void
  request(call: ClientCall): Promise<UpstreamReply>
  /** How the lists of the connection that this client uses differ from those that all share, if they do. */
  ownLists?(reader: ListReader): OwnLists | undefined
  /** Resolves when it is known which lists this client sees; `undefined` if it is known. */
  prepareLists?(reader: ListReader): Promise<void> | undefined
  /** An event of a client's conversation, for the connections that belong to it alone. */
  notifyConversation(conversation: string, notification: ConversationEvent): void
  /** The subscribers of its resources must subscribe again: each may belong to another instance now. */
  dismissSubscriptions?(): void
  /** A session may have become private: its subscriptions leave the normal instance. */
  recheckSubscriptions?(): void
  close(): Promise<void>
}

/** A server over one connection, and the subscriptions on it. */
export interface UpstreamConnection extends Upstream {
  readonly watch: {
    readonly isHeld: boolean
    dismiss(): void
  }
}
