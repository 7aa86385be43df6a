import { isolatedName, MAY_HAVE_RUN_HINT, SallyportError, type SallyportEvent } from '@sallyport/core'
import type { ServerConfig } from '../config/config.ts'
import type { AskClient } from './client.ts'
import type { CallRoute, ClientCall } from './link/outgoing-call.ts'
import type { OwnLists } from './own-lists.ts'
import type { Permit } from './permit.ts'
import { ResourceSubscription } from './resource-subscription.ts'
import type { ServerCatalog } from './server-catalog.ts'
import type {
  ConversationEvent,
  Counterpart,
  ListReader,
  Upstream,
  UpstreamListener,
  UpstreamReply,
} from './upstream-interface.ts'
import type { UpstreamStatus } from './upstream-status.ts'

export interface PairedServerOptions {
  readonly config: ServerConfig
  readonly normal: Upstream
  readonly openIsolated: (listener: UpstreamListener) => Upstream
  readonly listener: UpstreamListener
}

/** A call that is being sent, and where it goes. */
type RoutedCall = ClientCall & { readonly route: CallRoute }

/**
 * A server with two instances. The isolated one gets all requests of sessions with private data, and the normal one all
 * others. Neither replaces the other if it is down. Lists are those of the normal instance, since lists do not depend on
 * what a session has seen.
 */
export class PairedServer implements Upstream {
  readonly config: ServerConfig
  readonly normal: Upstream
  readonly counterpart: Counterpart
  readonly #isolated: Upstream
  /** Calls that went to the normal instance first, by their own permits. */
  readonly #normalPermits = new WeakMap<Permit, NormalPermit>()
  readonly #followed = new Set<FollowedSubscription>()

  constructor({ config, normal, openIsolated, listener }: PairedServerOptions) {
    this.config = config
    this.normal = normal
    let catalog: ServerCatalog | undefined
    const isolated = openIsolated({
      onCatalog: (read) => {
        catalog = read
        listener.onCounterpartCatalog?.()
      },
      onEvent: (event) => listener.onEvent(toIsolatedEvent(event, config.id)),
    })
    this.#isolated = isolated
    this.counterpart = {
      config: isolated.config,
      get catalog() {
        return catalog
      },
      status: () => isolated.status(),
    }
  }

  status(): UpstreamStatus {
    return this.normal.status()
  }

  start(): void {
    this.normal.start()
    this.startIsolated()
  }

  /** For a server whose normal instance is running already. */
  startIsolated(): void {
    this.#isolated.start()
  }

  request(call: ClientCall): Promise<UpstreamReply> {
    const { route } = call
    if (route === undefined) return Promise.reject(new Error('a call of a paired server has no route'))
    const routed: RoutedCall = { ...call, route }
    if (route.madeBy === 'isolated') return this.#requestIsolated(routed)
    if (!route.isPrivate) return this.#requestNormal(routed)
    const refusal = this.#findRefusal(routed)
    return refusal ? Promise.reject(refusal) : this.#requestIsolated(routed)
  }

  ownLists(reader: ListReader): OwnLists | undefined {
    return this.normal.ownLists?.(reader)
  }

  prepareLists(reader: ListReader): Promise<void> | undefined {
    return this.normal.prepareLists?.(reader)
  }

  notifyConversation(conversation: string, notification: ConversationEvent): void {
    this.normal.notifyConversation(conversation, notification)
    this.#isolated.notifyConversation(conversation, notification)
  }

  recheckSubscriptions(): void {
    for (const followed of [...this.#followed]) followed.recheck()
  }

  async close(): Promise<void> {
    try {
      await this.closeIsolated()
    } finally {
      await this.normal.close()
    }
  }

  closeIsolated(): Promise<void> {
    return this.#isolated.close()
  }

  /** What began at the normal instance cannot be continued at the other one, which does not know it. */
  #findRefusal({ route, permit }: RoutedCall): SallyportError | undefined {
    if (route.madeBy === 'normal') return taskOfNormal(this.config.id)
    return this.#normalPermits.get(permit)?.wasSent ? becamePrivate(this.config.id) : undefined
  }

  #requestIsolated(call: RoutedCall): Promise<UpstreamReply> {
    call.route.choose('isolated')
    if (this.#followed.size > 0) this.recheckSubscriptions()
    return this.#isolated.request({ ...call, permit: new IsolatedPermit(call) })
  }

  /** The session may become private while the call waits. Then nothing was sent, and the isolated instance gets it. */
  async #requestNormal(call: RoutedCall): Promise<UpstreamReply> {
    const { route, subscription } = call
    route.choose('normal')
    const permit = this.#permitNormal(call)
    const followed = subscription && this.#follow(subscription, route)
    const ask = guardAnswers(call.ask, route)
    const askStanding = guardAnswers(call.askStanding, route)
    try {
      const reply = await this.normal.request({ ...call, permit, ask, askStanding, subscription: followed?.inner })
      followed?.recheck()
      return reply
    } catch (error) {
      followed?.leave()
      if (!route.isPrivate || permit.wasSent) throw error
      return this.#requestIsolated(call)
    }
  }

  /** One for all rounds of a call. */
  #permitNormal(call: RoutedCall): NormalPermit {
    const known = this.#normalPermits.get(call.permit)
    if (known) return known
    const permit = new NormalPermit(call, this.config.id)
    this.#normalPermits.set(call.permit, permit)
    return permit
  }

  #follow(subscription: ResourceSubscription, route: CallRoute): FollowedSubscription {
    const followed = new FollowedSubscription({ subscription, route, onLeave: () => this.#followed.delete(followed) })
    if (!followed.inner.hasEnded) this.#followed.add(followed)
    return followed
  }
}

/** The right to send a call to the normal instance, until its session becomes private. */
class NormalPermit implements Permit {
  readonly #call: RoutedCall
  readonly #server: string
  #wasSent = false

  constructor(call: RoutedCall, server: string) {
    this.#call = call
    this.#server = server
  }

  get wasSent(): boolean {
    return this.#wasSent
  }

  get isCurrent(): boolean {
    return !this.#call.route.isPrivate && this.#call.permit.isCurrent
  }

  onSent(): void {
    this.#wasSent = true
    this.#call.permit.onSent?.()
  }

  onResent(): void {
    this.#call.permit.onResent?.()
  }

  async renew(): Promise<SallyportError | undefined> {
    return this.#call.route.isPrivate ? becamePrivate(this.#server) : this.#call.permit.renew()
  }
}

/** The right to send a call to the isolated instance, as long as what it offers is what was decided about. */
class IsolatedPermit implements Permit {
  readonly #call: RoutedCall

  constructor(call: RoutedCall) {
    this.#call = call
  }

  get isCurrent(): boolean {
    return this.#call.route.findRefusal() === undefined && this.#call.permit.isCurrent
  }

  onSent(): void {
    this.#call.permit.onSent?.()
  }

  onResent(): void {
    this.#call.permit.onResent?.()
  }

  async renew(): Promise<SallyportError | undefined> {
    return this.#call.route.findRefusal() ?? this.#call.permit.renew()
  }
}

interface FollowedOptions {
  /** As its client knows it. */
  readonly subscription: ResourceSubscription
  readonly route: CallRoute
  readonly onLeave: () => void
}

/** A subscription at the normal instance. Once its session is private it ends there, and its client subscribes again. */
class FollowedSubscription {
  readonly inner: ResourceSubscription
  readonly #options: FollowedOptions

  constructor(options: FollowedOptions) {
    this.#options = options
    const { subscription } = options
    this.inner = new ResourceSubscription(subscription.uri, {
      onUpdate: (params) => this.recheck() && subscription.update(params),
      onLost: () => this.#markLost(),
    })
    this.inner.serverUri = subscription.serverUri
    subscription.onRelease(() => this.leave())
    if (subscription.hasEnded) this.inner.end()
  }

  /** Whether it may stay. */
  recheck(): boolean {
    if (this.inner.hasEnded) return false
    if (!this.#options.route.isPrivate) return true
    this.#markLost()
    return false
  }

  leave(): void {
    this.#options.onLeave()
    this.inner.end()
  }

  #markLost(): void {
    this.leave()
    this.#options.subscription.markLost()
  }
}

/** The connection knows itself by the name of the instance. */
const toIsolatedEvent = (event: SallyportEvent, server: string): SallyportEvent =>
  'server' in event ? ({ ...event, server, instance: 'isolated' } as SallyportEvent) : event

/** What a client answers may be private by now, so the normal instance no longer gets it. */
function guardAnswers(ask: AskClient | undefined, route: CallRoute): AskClient | undefined {
  if (ask === undefined) return undefined
  const refusal = { error: { code: -32_600, message: 'The client can no longer be asked.' } }
  return async (question) => {
    if (route.isPrivate) return refusal
    const answer = await ask(question)
    return route.isPrivate ? refusal : answer
  }
}

const becamePrivate = (server: string): SallyportError =>
  new SallyportError(
    'CALL_DENIED',
    `The session came to hold private data while the call ran, and the normal instance of server ${server} gets nothing more of it.`,
    { hint: `Make the call again: it then goes to ${isolatedName(server)}. ${MAY_HAVE_RUN_HINT}` },
  )

const taskOfNormal = (server: string): SallyportError =>
  new SallyportError(
    'CALL_DENIED',
    `This task belongs to the normal instance of server ${server}, which a session with private data no longer reaches.`,
    { hint: `Call the tool again: the task is then made by ${isolatedName(server)}.` },
  )
