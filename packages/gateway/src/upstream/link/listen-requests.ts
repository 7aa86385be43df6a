import { isJsonObject, type JsonObject, META } from '@sallyport/core'
import type { Permit } from '../permit.ts'
import type { Frame } from '../transport.ts'
import type { HandshakeResult } from './handshake.ts'
import { ListenRequest, type ListenRequestOptions } from './listen-request.ts'
import type { OutgoingCall } from './outgoing-call.ts'

export interface ListenRequestsOptions extends Omit<ListenRequestOptions, 'lists'> {
  readonly handshake: Pick<HandshakeResult, 'capabilities'>
}

const LIST_FILTERS: readonly (readonly [capability: string, filter: string])[] = [
  ['tools', 'toolsListChanged'],
  ['prompts', 'promptsListChanged'],
  ['resources', 'resourcesListChanged'],
]

/** Over HTTP each request keeps a connection open. Beyond this many, the last one is replaced by a larger one. */
const MAX_RESOURCE_REQUESTS = 8

/**
 * The modern era: a `subscriptions/listen` request for changed lists, and others for resources. They have nothing in
 * common: servers of the Go SDK remember one request for each list and resource of a connection, so that the end of one
 * request would silence another with the same filter.
 */
export class ListenRequests implements ChangeSource {
  readonly maxConcurrent = Number.POSITIVE_INFINITY
  readonly #options: ListenRequestsOptions
  readonly #lists: ListenRequest
  #resources: readonly ListenRequest[] = []

  constructor(options: ListenRequestsOptions) {
    this.#options = options
    const offered = LIST_FILTERS.filter(([capability]) => options.handshake.capabilities[capability] !== undefined)
    this.#lists = new ListenRequest({
      ...options,
      lists: Object.fromEntries(offered.map(([, filter]) => [filter, true])),
    })
  }

  subscribe(uri: string, { permit }: SubscribeRequest): Promise<Frame> {
    return this.#findOrCreate(uri).subscribe(uri, permit)
  }

  async unsubscribe(uri: string): Promise<void> {
    await this.#resources.find((request) => request.covers(uri))?.unsubscribe(uri)
    this.#stopUnused()
  }

  flush(): void {
    for (const request of this.#resources) request.flush()
  }

  consumes(notification: JsonObject): boolean {
    const { method, params } = notification
    const id = readSubscriptionId(notification)
    const requests = [this.#lists, ...this.#resources]
    if (method === 'notifications/resources/updated')
      return id !== undefined && !requests.some((request) => request.owns(id))
    if (method !== 'notifications/subscriptions/acknowledged') return false
    for (const request of requests) request.acknowledged(id, isJsonObject(params) ? params.notifications : undefined)
    return true
  }

  close(): void {
    for (const request of [this.#lists, ...this.#resources]) request.close()
  }

  #findOrCreate(uri: string): ListenRequest {
    this.#stopUnused()
    const existing =
      this.#resources.find((request) => request.covers(uri)) ??
      this.#resources.find(({ isCollecting }) => isCollecting) ??
      this.#resources[MAX_RESOURCE_REQUESTS - 1]
    if (existing) return existing
    const request = new ListenRequest({ ...this.#options, lists: {} })
    this.#resources = [...this.#resources, request]
    return request
  }

  #stopUnused(): void {
    for (const request of this.#resources) if (request.isUnused) request.stop()
    this.#resources = this.#resources.filter(({ isUnused }) => !isUnused)
  }
}

/** The id of the listening request for a notification, according to the server. */
function readSubscriptionId({ params }: JsonObject): unknown {
  const meta = isJsonObject(params) ? params._meta : undefined
  return isJsonObject(meta) ? meta[META.subscriptionId] : undefined
}

/** The client's own request. If missing, the gateway asks on behalf of those who already wait. */
export type SubscribeOptions = Pick<
  OutgoingCall,
  'params' | 'caller' | 'client' | 'ask' | 'limit' | 'onProgress' | 'mayTellSecrets'
> &
  Partial<Pick<OutgoingCall, 'permit'>>

/** A resource that is asked for. */
export interface SubscribeRequest {
  readonly by: SubscribeOptions | undefined
  /** Of all who wait for the answer. */
  readonly permit: Permit
}

/** One connection as a source of change notifications. Each era has its own way to ask for them. */
export interface ChangeSource {
  /** How many subscribe requests may run at the same time. */
  readonly maxConcurrent: number
  /** The server is told who subscribes, so that each caller needs a request of its own. */
  readonly namesCallers?: boolean
  /** Subscribes to a resource. Resolves with a result if that was granted, or with the server's own refusal. */
  subscribe(uri: string, request: SubscribeRequest): Promise<Frame>
  /** Never rejects: a server that refuses goes on reporting, which harms nobody. */
  unsubscribe(uri: string): Promise<void>
  /** Sends subscriptions that were only collected so far: what follows must not overtake them. */
  flush(): void
  /** True if the notification is only about the subscription itself, or is a duplicate: then it goes to nobody else. */
  consumes(notification: JsonObject): boolean
  close(): void
}
