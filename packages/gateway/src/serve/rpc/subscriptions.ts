import { Cancellation, isJsonObject, type Json, type JsonObject, META, SallyportError } from '@sallyport/core'
import type { PermittedUpdate } from '../../pipeline/pipeline.ts'
import type { ResourceSubscription, SubscriptionEvents } from '../../upstream/upstream.ts'
import type { ChangeHub } from './change-hub.ts'
import type { ClientRequest, Reply } from './client-request.ts'
import { ClientSubscriptions, MAX_SUBSCRIBED_RESOURCES } from './client-subscriptions.ts'
import { resultMessage } from './wire-message.ts'

export interface SubscriptionsOptions {
  readonly hub: ChangeHub
  readonly maxListeners: () => number
  /** Sends a request for a resource through the pipeline; the reply contains whether it was granted. */
  readonly ask: (request: ClientRequest) => Promise<Reply>
  /** The update as the subscriber may see it by the current rules; `undefined` if it may not. */
  readonly checkUpdate: (request: ClientRequest, update: JsonObject) => ServerUpdate | undefined
  /** Logs a bug for which no client waits for an answer. */
  readonly onBug: (error: unknown, where: string) => void
}

export interface ServerUpdate extends PermittedUpdate {
  /** The server that offers the resource now. */
  readonly server: string
}

/** How many resources of one listening request are requested at the same time, to avoid a flood of calls. */
const MAX_CONCURRENT = 8

/** Subscriptions of all clients: legacy clients subscribe to resources, modern ones listen on a stream. */
export class Subscriptions {
  readonly #options: SubscriptionsOptions
  /** Includes clients whose resources are still being requested. Legacy sessions have their own limit. */
  #listeners = 0
  #isClosed = false

  constructor(options: SubscriptionsOptions) {
    this.#options = options
  }

  /** The servers are about to stop for good: lost subscriptions are not requested again. */
  close(): void {
    this.#isClosed = true
  }

  subscribe(request: ClientRequest): Promise<Reply> {
    const { subscriptions, params } = request
    if (!subscriptions || typeof params.uri !== 'string') return this.#options.ask(request)
    return this.#requestResource(request, params.uri, subscriptions)
  }

  /** The server is unsubscribed when no other client is subscribed. */
  async unsubscribe(request: ClientRequest): Promise<Reply> {
    request.subscriptions?.end(String(request.params.uri))
    return { message: resultMessage(request.id, {}), status: 200 }
  }

  /** Stays open until the client stops listening. Acknowledges only what the client may see. */
  async listen(request: ClientRequest): Promise<Reply> {
    if (this.#listeners >= this.#options.maxListeners())
      throw new SallyportError(
        'OVERLOADED',
        `${this.#listeners} clients listen for changes, which is the limit (gateway.max_sessions).`,
      )
    this.#listeners++
    const stream = new ListenerStream(request)
    const own = new ClientSubscriptions((notification) => stream.send(notification))
    try {
      return await this.#listenUntilCancelled(request, { stream, own })
    } finally {
      own.close()
      this.#listeners--
    }
  }

  async #listenUntilCancelled(request: ClientRequest, { stream, own }: Listener): Promise<Reply> {
    const wanted = isJsonObject(request.params.notifications) ? request.params.notifications : {}
    const uris = await this.#requestAll(request, wanted.resourceSubscriptions, own)
    const wants = readListKinds(wanted)
    stream.acknowledge(acknowledgement(wants, uris))
    const { principal } = request
    const remove = this.#options.hub.add({ principal, wants, notify: (notification) => stream.send(notification) })
    return new Promise((resolve) => {
      request.cancellation.onCancel(() => {
        remove()
        resolve({ message: resultMessage(request.id, { resultType: 'complete', _meta: stream.meta }), status: 200 })
      })
    })
  }

  /** Each resource is requested like any other: decided, recorded and sent to its server. */
  async #requestAll(
    request: ClientRequest,
    wanted: Json | undefined,
    own: ClientSubscriptions,
  ): Promise<readonly string[]> {
    const strings = (Array.isArray(wanted) ? wanted : []).filter((uri): uri is string => typeof uri === 'string')
    if (strings.length > MAX_SUBSCRIBED_RESOURCES)
      throw new SallyportError(
        'INVALID_PARAMS',
        `At most ${MAX_SUBSCRIBED_RESOURCES} resources can be listened to at once.`,
      )
    const uris = [...new Set(strings)]
    const granted: string[] = []
    for (let from = 0; from < uris.length && request.cancellation.reason === undefined; from += MAX_CONCURRENT) {
      const some = uris.slice(from, from + MAX_CONCURRENT)
      const outcomes = await this.#requestBatch(request, some, own)
      granted.push(...some.filter((_, index) => outcomes[index]))
    }
    return granted
  }

  /** A cancellation has only one listener, so each request gets its own cancellation. */
  async #requestBatch(
    request: ClientRequest,
    uris: readonly string[],
    own: ClientSubscriptions,
  ): Promise<readonly boolean[]> {
    const requests = uris.map((uri) => ({ uri, cancellation: new Cancellation() }))
    request.cancellation.onCancel((reason) => {
      for (const { cancellation } of requests) cancellation.cancel(reason)
    })
    return Promise.all(
      requests.map(({ uri, cancellation }) =>
        this.#requestResource({ ...resourceRequest(request, uri), cancellation }, uri, own).then(
          ({ granted }) => granted === true,
          (error: unknown) => {
            if (!(error instanceof SallyportError)) throw error
            return false
          },
        ),
      ),
    )
  }

  async #requestResource(request: ClientRequest, uri: string, own: ClientSubscriptions): Promise<Reply> {
    const handlers = this.#createHandlers(durableRequest(request, uri), own)
    const subscription = own.begin(uri, handlers)
    try {
      const reply = await this.#options.ask({ ...request, subscription })
      if (reply.granted && handlers.isStillVisible()) own.grant(subscription)
      return reply
    } finally {
      if (!own.has(subscription)) own.discard(subscription)
    }
  }

  #createHandlers(request: ClientRequest, own: ClientSubscriptions): SubscriptionHandlers {
    let first: ServerUpdate | undefined
    const toVisible = (update: JsonObject): JsonObject | undefined => {
      // The resource may be unknown until its server has listed what it offers.
      first ??= this.#options.checkUpdate(request, request.params)
      const now = this.#options.checkUpdate(request, update)
      if (!first || now?.server !== first.server || now.strictness > first.strictness) return undefined
      return now.params
    }
    return {
      isStillVisible: () => toVisible(request.params) !== undefined,
      onUpdate: (update) => this.#sendUpdate(own, () => toVisible(update)),
      // Its server is being replaced; the replacement is available in a moment.
      onLost: (lost) => queueMicrotask(() => void this.#resubscribe(request, lost, own)),
    }
  }

  /** The subscription stays while its updates are withheld: a client could not be notified of its end, and would not subscribe again. */
  #sendUpdate(own: ClientSubscriptions, toVisible: () => JsonObject | undefined): void {
    try {
      const params = toVisible()
      if (params) own.notify({ method: 'notifications/resources/updated', params })
    } catch (error) {
      this.#options.onBug(error, 'notifications/resources/updated')
    }
  }

  /** Decided and recorded again: it is another server now, or the same one with another configuration. */
  async #resubscribe(request: ClientRequest, lost: ResourceSubscription, own: ClientSubscriptions): Promise<void> {
    if (lost.hasEnded || this.#isClosed) return
    try {
      await this.#requestResource({ ...request, cancellation: new Cancellation() }, lost.uri, own)
    } catch (error) {
      if (!(error instanceof SallyportError)) this.#options.onBug(error, 'resources/subscribe')
    } finally {
      own.discard(lost)
    }
  }
}

/** A request for a single resource of a listening request, without progress. */
function resourceRequest(request: ClientRequest, uri: string): ClientRequest {
  const { progressToken: _none, ...meta } = isJsonObject(request.params._meta) ? request.params._meta : {}
  return { ...request, method: 'resources/subscribe', params: { uri, _meta: meta } }
}

/** What is retained while the subscription lasts: nothing that belongs to the HTTP exchange. */
function durableRequest(request: ClientRequest, uri: string): ClientRequest {
  const client = request.client.standing ?? request.client
  return { ...resourceRequest(request, uri), client, carrier: undefined, subscription: undefined }
}

interface SubscriptionHandlers extends SubscriptionEvents {
  /** The resource still belongs to the same server, and the caller may see it. */
  readonly isStillVisible: () => boolean
}

interface Listener {
  readonly stream: ListenerStream
  readonly own: ClientSubscriptions
}

/** Notifications for a listening client, with the id of its request. The acknowledgement is sent first. */
class ListenerStream {
  readonly meta: JsonObject
  readonly #client: ClientRequest['client']
  /** The latest update of each resource before the acknowledgement; `undefined` afterwards. */
  #early: Map<unknown, JsonObject> | undefined = new Map()

  constructor({ id, client }: ClientRequest) {
    this.meta = { [META.subscriptionId]: id }
    this.#client = client
  }

  acknowledge(notifications: JsonObject): void {
    const early = this.#early ?? new Map<unknown, JsonObject>()
    this.#early = undefined
    this.send({ method: 'notifications/subscriptions/acknowledged', params: { notifications } })
    for (const notification of early.values()) this.send(notification)
  }

  send(notification: JsonObject): void {
    const params = isJsonObject(notification.params) ? notification.params : {}
    if (this.#early) {
      if (this.#early.size < MAX_SUBSCRIBED_RESOURCES) this.#early.set(params.uri, notification)
      return
    }
    const _meta = { ...(isJsonObject(params._meta) && params._meta), ...this.meta }
    this.#client.notify({ method: notification.method, params: { ...params, _meta } })
  }
}

interface ListKinds {
  readonly tools: boolean
  readonly prompts: boolean
  readonly resources: boolean
}

function readListKinds(wanted: JsonObject): ListKinds {
  return {
    tools: wanted.toolsListChanged === true,
    prompts: wanted.promptsListChanged === true,
    resources: wanted.resourcesListChanged === true,
  }
}

function acknowledgement(wants: ListKinds, uris: readonly string[]): JsonObject {
  return {
    ...(wants.tools && { toolsListChanged: true }),
    ...(wants.prompts && { promptsListChanged: true }),
    ...(wants.resources && { resourcesListChanged: true }),
    ...(uris.length > 0 && { resourceSubscriptions: uris }),
  }
}
