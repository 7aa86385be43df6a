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
  /** Puts a request for a resource through the pipeline; the reply tells whether it was granted. */
  readonly ask: (request: ClientRequest) => Promise<Reply>
  /** News for who subscribed by this request, as the rules are now; undefined where they may not hear of it. */
  readonly checkUpdate: (request: ClientRequest, update: JsonObject) => ServerUpdate | undefined
  /** Says what broke where nobody waits for an answer. */
  readonly onBug: (error: unknown, where: string) => void
}

export interface ServerUpdate extends PermittedUpdate {
  /** Whose the resource is now. */
  readonly server: string
}

/** So many resources of one listening request are asked for at the same time: it is no flood of calls. */
const MAX_CONCURRENT = 8

/** Who hears of what: legacy clients subscribe to resources, modern ones listen on a stream. */
export class Subscriptions {
  readonly #options: SubscriptionsOptions
  /** Also those whose resources are still being asked for. Legacy sessions have a limit of their own. */
  #listeners = 0
  #isClosed = false

  constructor(options: SubscriptionsOptions) {
    this.#options = options
  }

  /** The servers are about to go for good: nothing is asked for in their place. */
  close(): void {
    this.#isClosed = true
  }

  subscribe(request: ClientRequest): Promise<Reply> {
    const { subscriptions, params } = request
    if (!subscriptions || typeof params.uri !== 'string') return this.#options.ask(request)
    return this.#requestResource(request, params.uri, subscriptions)
  }

  /** The server is told when nobody else wants to hear of it. */
  async unsubscribe(request: ClientRequest): Promise<Reply> {
    request.subscriptions?.end(String(request.params.uri))
    return { message: resultMessage(request.id, {}), status: 200 }
  }

  /** Stays open until the client no longer listens. Only what it may hear of is acknowledged. */
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

  /** Each resource is asked for like any other: it is decided and recorded, and its server is told. */
  async #requestAll(
    request: ClientRequest,
    wanted: Json | undefined,
    own: ClientSubscriptions,
  ): Promise<readonly string[]> {
    const texts = (Array.isArray(wanted) ? wanted : []).filter((uri): uri is string => typeof uri === 'string')
    if (texts.length > MAX_SUBSCRIBED_RESOURCES)
      throw new SallyportError(
        'INVALID_PARAMS',
        `At most ${MAX_SUBSCRIBED_RESOURCES} resources can be listened to at once.`,
      )
    const uris = [...new Set(texts)]
    const granted: string[] = []
    for (let from = 0; from < uris.length && request.cancellation.reason === undefined; from += MAX_CONCURRENT) {
      const some = uris.slice(from, from + MAX_CONCURRENT)
      const outcomes = await this.#requestBatch(request, some, own)
      granted.push(...some.filter((_, index) => outcomes[index]))
    }
    return granted
  }

  /** One cancellation has one listener, so that each gets its own. */
  async #requestBatch(
    request: ClientRequest,
    uris: readonly string[],
    own: ClientSubscriptions,
  ): Promise<readonly boolean[]> {
    const asks = uris.map((uri) => ({ uri, cancellation: new Cancellation() }))
    request.cancellation.onCancel((reason) => {
      for (const { cancellation } of asks) cancellation.cancel(reason)
    })
    return Promise.all(
      asks.map(({ uri, cancellation }) =>
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
    const hearing = this.#createHandlers(durableRequest(request, uri), own)
    const subscription = own.begin(uri, hearing)
    try {
      const reply = await this.#options.ask({ ...request, subscription })
      if (reply.granted && hearing.isStillVisible()) own.grant(subscription)
      return reply
    } finally {
      if (!own.has(subscription)) own.discard(subscription)
    }
  }

  #createHandlers(request: ClientRequest, own: ClientSubscriptions): SubscriptionHandlers {
    let first: ServerUpdate | undefined
    const shown = (update: JsonObject): JsonObject | undefined => {
      // It may be known only once its server has told what it has.
      first ??= this.#options.checkUpdate(request, request.params)
      const now = this.#options.checkUpdate(request, update)
      if (!first || now?.server !== first.server || now.strictness > first.strictness) return undefined
      return now.params
    }
    return {
      isStillVisible: () => shown(request.params) !== undefined,
      onUpdate: (update) => this.#sendUpdate(own, () => shown(update)),
      // Its server is being replaced: whoever comes in its place is there in a moment.
      onLost: (lost) => queueMicrotask(() => void this.#resubscribe(request, lost, own)),
    }
  }

  /** The subscription stays while its news are kept back: no client could be told of its end, and ask again afterwards. */
  #sendUpdate(own: ClientSubscriptions, shown: () => JsonObject | undefined): void {
    try {
      const params = shown()
      if (params) own.notify({ method: 'notifications/resources/updated', params })
    } catch (error) {
      this.#options.onBug(error, 'notifications/resources/updated')
    }
  }

  /** Decided and recorded anew: it is another server now, or the same one under another configuration. */
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

/** One resource of a request, as if it had been asked for alone; nobody waits for its progress. */
function resourceRequest(request: ClientRequest, uri: string): ClientRequest {
  const { progressToken: _none, ...meta } = isJsonObject(request.params._meta) ? request.params._meta : {}
  return { ...request, method: 'resources/subscribe', params: { uri, _meta: meta } }
}

/** What is kept of it for as long as the subscription lasts: nothing of the exchange that it came in. */
function durableRequest(request: ClientRequest, uri: string): ClientRequest {
  const client = request.client.standing ?? request.client
  return { ...resourceRequest(request, uri), client, carrier: undefined, subscription: undefined }
}

interface SubscriptionHandlers extends SubscriptionEvents {
  /** The resource is of the server that it was of at first, and the caller may see it. */
  readonly isStillVisible: () => boolean
}

interface Listener {
  readonly stream: ListenerStream
  readonly own: ClientSubscriptions
}

/** What a listening client is told, under the id of its request. The acknowledgement comes first. */
class ListenerStream {
  readonly meta: JsonObject
  readonly #client: ClientRequest['client']
  /** The latest news of each resource, until the client knows that it will hear of it. */
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
