import {
  type Cancellation,
  callCancelledError,
  isJsonObject,
  type JsonObject,
  META,
  messageOf,
  SallyportError,
} from '@sallyport/core'
import type { CallerIdentity } from './link/caller-token.ts'
import type { HandshakeResult } from './link/handshake.ts'
import type { Link } from './link/link.ts'
import { SUBSCRIBED } from './link/listen-request.ts'
import {
  type ChangeSource,
  ListenRequests,
  type SubscribeOptions,
  type SubscribeRequest,
} from './link/listen-requests.ts'
import type { ClientCall } from './link/outgoing-call.ts'
import { timeoutsFor } from './link/pending-request.ts'
import { requirePermit, SharedPermit } from './permit.ts'
import type { ResourceSubscription } from './resource-subscription.ts'
import type { Frame } from './transport.ts'
import type { UpstreamConfig } from './upstream-config.ts'
import type { UpstreamReply } from './upstream-interface.ts'
import { coveringUris } from './uri-cover.ts'

export interface ResourceWatchOptions {
  readonly config: Pick<UpstreamConfig, 'id' | 'timeouts'>
  readonly onWarning: (text: string) => void
  /** How many resources of the server can be watched at once. */
  readonly maxResources?: number
}

const DEFAULT_MAX_RESOURCES = 5_000
const LIST_CHANGE = /^notifications\/(tools|prompts|resources)\/list_changed$/

interface WatchedResource {
  readonly uri: string
  /** The granted subscriptions, and who asked for them. They survive restarts of the server. */
  readonly holders: Map<ResourceSubscription, CallerIdentity | undefined>
  /** Clients whose request is not answered yet. */
  waiting: number
  asking: Promise<Frame> | undefined
  /** Of those who wait for that answer. */
  permit: SharedPermit | undefined
  leaving: Promise<void> | undefined
  /** This connection reports its changes. */
  isGranted: boolean
  /** The latest update, while somebody waits: it may come together with the answer that grants the subscription. */
  early: JsonObject | undefined
}

/** The watched resources of one server. The server is asked once for each resource, however many clients subscribed. */
export class ResourceWatch {
  readonly #options: ResourceWatchOptions
  readonly #watched = new Map<string, WatchedResource>()
  #source: ChangeSource | undefined

  constructor(options: ResourceWatchOptions) {
    this.#options = options
  }

  /** Whether at least one subscription is active. */
  get isHeld(): boolean {
    for (const { holders } of this.#watched.values()) if (holders.size > 0) return true
    return false
  }

  /** Answers `resources/subscribe`. The server is asked only if it does not report the resource already. */
  async subscribe(subscription: ResourceSubscription, call: ClientCall): Promise<UpstreamReply> {
    const watched = this.#findOrAdd(subscription.serverUri)
    watched.waiting++
    try {
      await unlessCancelled(Promise.resolve(watched.leaving), call.cancellation)
      // One request serves all subscribers, in the name of the gateway. So each subscription needs its own permit
      // first.
      await unlessCancelled(requirePermit(call.permit), call.cancellation)
      const frame =
        watched.isGranted && !this.#source?.namesCallers
          ? SUBSCRIBED
          : await unlessCancelled(this.#subscribeOnce(watched, call), call.cancellation)
      if (frame.envelope.result !== undefined) this.#addHolder(watched, subscription, call.caller)
      return { frame, era: 'legacy' }
    } finally {
      watched.waiting--
      if (watched.waiting === 0) watched.early = undefined
      this.#unsubscribeIfUnused(watched)
    }
  }

  /** Subscribes again to what clients wait for already. */
  connected(link: Link, handshake: Pick<HandshakeResult, 'era' | 'capabilities'>): void {
    const source = this.#createSource(link, handshake)
    this.#source = source
    void this.#resubscribe(source)
  }

  #createSource(link: Link, handshake: Pick<HandshakeResult, 'era' | 'capabilities'>): ChangeSource {
    const { config, onWarning } = this.#options
    const { timeouts } = config
    if (handshake.era === 'legacy') return new SubscribeRequests({ link, timeouts, onWarning })
    const onDropped = (uris: readonly string[]): void => this.#onDropped(uris)
    return new ListenRequests({ link, handshake, timeoutMs: timeouts.call, onWarning, onDropped })
  }

  disconnected(): void {
    this.#source?.close()
    this.#source = undefined
    for (const watched of [...this.#watched.values()]) {
      Object.assign(watched, { isGranted: false, asking: undefined, leaving: undefined })
      this.#unsubscribeIfUnused(watched)
    }
  }

  /** The subscribers must subscribe again: they now use another connection. */
  dismiss(): void {
    const holders = [...this.#watched.values()].flatMap((watched) => [...watched.holders.keys()])
    for (const watched of [...this.#watched.values()]) {
      watched.holders.clear()
      this.#unsubscribeIfUnused(watched)
    }
    for (const holder of holders) holder.markLost()
  }

  /** Must be called before a call is sent: a client that subscribed before it wants to hear of what the call changes. */
  flush(): void {
    this.#source?.flush()
  }

  close(): void {
    this.disconnected()
    this.dismiss()
    this.#watched.clear()
  }

  /** The server stopped reporting changes of these, although nobody unsubscribed. */
  #onDropped(uris: readonly string[]): void {
    for (const uri of uris) {
      const watched = this.#watched.get(uri)
      if (watched) watched.isGranted = false
    }
  }

  /** False for a changed list: that concerns everybody, while updates go only to the subscribers. */
  handles(notification: JsonObject): boolean {
    if (LIST_CHANGE.test(String(notification.method))) return false
    const isStale = this.#source?.consumes(notification)
    const isUpdate = notification.method === 'notifications/resources/updated'
    if (isUpdate && !isStale && isJsonObject(notification.params)) this.#onUpdated(notification.params)
    return true
  }

  #onUpdated(params: JsonObject): void {
    if (typeof params.uri !== 'string') return
    const update = withoutSubscriptionId(params)
    for (const uri of coveringUris(params.uri)) {
      const watched = this.#watched.get(uri)
      if (!watched) continue
      if (watched.waiting > 0) watched.early = update
      for (const holder of [...watched.holders.keys()]) holder.update(update)
    }
  }

  #findOrAdd(uri: string): WatchedResource {
    const existing = this.#watched.get(uri)
    if (existing) return existing
    const { config, maxResources = DEFAULT_MAX_RESOURCES } = this.#options
    if (this.#watched.size >= maxResources)
      throw new SallyportError(
        'OVERLOADED',
        `${maxResources} resources of server ${config.id} are watched, which is the limit.`,
        {
          hint: 'Unsubscribe from what is no longer needed, and try again.',
        },
      )
    const watched: WatchedResource = {
      ...{ uri, holders: new Map(), waiting: 0 },
      ...{ asking: undefined, permit: undefined, leaving: undefined, isGranted: false, early: undefined },
    }
    this.#watched.set(uri, watched)
    return watched
  }

  #addHolder(watched: WatchedResource, subscription: ResourceSubscription, caller?: CallerIdentity): void {
    if (subscription.hasEnded) return
    // We were closed while the request was pending.
    if (this.#watched.get(watched.uri) !== watched) return subscription.markLost()
    watched.holders.set(subscription, caller)
    if (watched.early) subscription.update(watched.early)
    subscription.onRelease(() => {
      watched.holders.delete(subscription)
      this.#unsubscribeIfUnused(watched)
    })
  }

  /** Clients that subscribe while the request is pending share its outcome. */
  #subscribeOnce(watched: WatchedResource, by?: SubscribeOptions): Promise<Frame> {
    if (watched.asking !== undefined && !this.#source?.namesCallers) {
      watched.permit?.add(by?.permit)
      return watched.asking
    }
    // It may wait for a connection, while the session of the only client that wants it becomes private.
    const permit = new SharedPermit()
    permit.add(by?.permit)
    watched.permit = permit
    const asking = this.#subscribeAtServer(watched, { by, permit }).finally(() => {
      if (watched.asking !== asking) return
      watched.asking = undefined
      watched.permit = undefined
      this.#unsubscribeIfUnused(watched)
    })
    watched.asking = asking
    return asking
  }

  async #subscribeAtServer(watched: WatchedResource, asked: SubscribeRequest): Promise<Frame> {
    const source = this.#source
    // Over HTTP one request can overtake another: an old unsubscribe must not cancel a new subscribe.
    await watched.leaving
    if (!source || this.#source !== source)
      throw new SallyportError('UPSTREAM_UNAVAILABLE', `Server ${this.#options.config.id} is not connected.`)
    const frame = await source.subscribe(watched.uri, asked)
    if (this.#source === source && frame.envelope.result !== undefined) watched.isGranted = true
    return frame
  }

  #unsubscribeIfUnused(watched: WatchedResource): void {
    const { uri, holders, waiting, asking, leaving } = watched
    if (holders.size > 0 || waiting > 0 || asking !== undefined || leaving !== undefined) return
    if (!watched.isGranted || !this.#source) {
      if (this.#watched.get(uri) === watched) this.#watched.delete(uri)
      return
    }
    watched.isGranted = false
    const left = this.#source.unsubscribe(uri).then(() => {
      if (watched.leaving !== left) return
      watched.leaving = undefined
      this.#unsubscribeIfUnused(watched)
    })
    watched.leaving = left
  }

  async #resubscribe(source: ChangeSource): Promise<void> {
    const wanted = [...this.#watched.values()].filter(({ holders }) => holders.size > 0)
    const refusals: string[] = []
    const queue = wanted.values()
    const work = async (): Promise<void> => {
      for (const watched of queue) {
        if (this.#source !== source) return
        for (const by of listSubscribers(watched, source)) {
          const refusal = await this.#subscribeOnce(watched, by).then(findRefusal, messageOf)
          if (refusal !== undefined) refusals.push(refusal)
        }
      }
    }
    await Promise.all(Array.from({ length: Math.min(source.maxConcurrent, wanted.length) }, work))
    if (this.#source === source && refusals.length > 0)
      this.#options.onWarning(
        `it no longer reports changes of ${refusals.length} subscribed resource(s): ${refusals[0]}`,
      )
  }
}

/** In whose name a resource is subscribed again: in that of the gateway, or of each caller. */
function listSubscribers({ uri, holders }: WatchedResource, { namesCallers }: ChangeSource) {
  const callers = namesCallers ? new Set(holders.values()) : holders.size > 0 ? [undefined] : []
  return [...callers].map((caller): SubscribeOptions | undefined => caller && { params: { uri }, caller })
}

const findRefusal = ({ envelope }: Frame): string | undefined =>
  envelope.error === undefined ? undefined : 'the server refused it'

/** Stops waiting for something that others may still wait for. */
function unlessCancelled<Outcome>(work: Promise<Outcome>, cancellation: Cancellation | undefined): Promise<Outcome> {
  if (!cancellation) return work
  return new Promise((resolve, reject) => {
    cancellation.onCancel((reason) => reject(callCancelledError(reason)))
    // Must be first: the next step of the caller may set its own cancellation listener.
    const done = (): void => cancellation.onCancel(undefined)
    work.finally(done).then(resolve, reject)
  })
}

/** Subscription ids are per client, so the server's id is removed. */
function withoutSubscriptionId({ _meta, ...params }: JsonObject): JsonObject {
  if (!isJsonObject(_meta)) return params
  const { [META.subscriptionId]: _ours, ...meta } = _meta
  return Object.keys(meta).length > 0 ? { ...params, _meta: meta } : params
}

interface SubscribeRequestsOptions {
  readonly link: Link
  readonly timeouts: UpstreamConfig['timeouts']
  readonly onWarning: (text: string) => void
}

/** The legacy era: one `resources/subscribe` for each resource. Servers report changed lists without being asked. */
class SubscribeRequests implements ChangeSource {
  /** So that a server that has just restarted does not get thousands of requests at once. */
  readonly maxConcurrent = 16
  readonly namesCallers: boolean
  readonly #options: SubscribeRequestsOptions
  #isClosed = false

  constructor(options: SubscribeRequestsOptions) {
    this.#options = options
    this.namesCallers = options.link.namesCallers
  }

  async subscribe(uri: string, { by, permit }: SubscribeRequest): Promise<Frame> {
    const { call: timeout, callMaximum: maximum } = this.#options.timeouts
    const request = { method: 'resources/subscribe', permit }
    if (!by) return (await this.#options.link.call({ ...request, params: { uri } }, { timeout, maximum })).frame
    const { params, caller, client, ask, limit, onProgress, mayTellSecrets } = by
    const sent = { ...request, params, caller, client, ask, limit, onProgress, mayTellSecrets, name: uri }
    return (await this.#options.link.call(sent, timeoutsFor(by, { timeout, maximum }))).frame
  }

  async unsubscribe(uri: string): Promise<void> {
    try {
      const { call: timeout, callMaximum: maximum } = this.#options.timeouts
      const request = { method: 'resources/unsubscribe', params: { uri }, timeout, maximum }
      const { envelope } = await this.#options.link.request(request)
      if (envelope.error !== undefined) this.#warn('the server refused it')
    } catch (error) {
      this.#warn(messageOf(error))
    }
  }

  flush(): void {}

  consumes(): boolean {
    return false
  }

  close(): void {
    this.#isClosed = true
  }

  /** All subscriptions end with the connection: then there is nothing to report. */
  #warn(why: string): void {
    if (!this.#isClosed) this.#options.onWarning(`a subscription could not be cancelled: ${why}`)
  }
}
