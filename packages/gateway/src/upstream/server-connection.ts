import { type ErrorCode, type JsonObject, MAY_HAVE_RUN_HINT, messageOf, SallyportError } from '@sallyport/core'
import { CatalogRefresh } from './catalog-refresh.ts'
import { type Health, HealthCheck } from './health-check.ts'
import { IdleTimer } from './idle-timer.ts'
import type { DroppedMessages, DropReason } from './link/dropped-messages.ts'
import { type HandshakeResult, performHandshake } from './link/handshake.ts'
import { type ConnectionIdentity, Link, type LinkEvents } from './link/link.ts'
import { LogLevelSetting } from './link/log-level.ts'
import type { ClientCall, OutgoingCall } from './link/outgoing-call.ts'
import { type CallTimeouts, timeoutsFor } from './link/pending-request.ts'
import { ResourceWatch } from './resource-watch.ts'
import { type DeathRecord, NO_DEATHS, planRestart, type RestartPolicy } from './restart-policy.ts'
import { fetchCatalog, pickHandshake, type ServerCatalog } from './server-catalog.ts'
import { StartWaiters } from './start-waiters.ts'
import { stateRefusal } from './state-refusal.ts'
import type { StderrTail } from './stderr-tail.ts'
import type { Transport } from './transport.ts'
import type { UpstreamConfig } from './upstream-config.ts'
import type { ConversationEvent, Upstream, UpstreamListener, UpstreamReply } from './upstream-interface.ts'
import type { UpstreamState, UpstreamStatus } from './upstream-status.ts'

export interface ServerConnectionOptions {
  readonly config: UpstreamConfig
  readonly createTransport: () => Transport & { readonly pid?: number | undefined; readonly hasSession?: boolean }
  readonly messages: StderrTail
  /** Shared by all connections to the server. */
  readonly dropped: DroppedMessages
  readonly listener: UpstreamListener
  readonly identity: ConnectionIdentity
  /** The server asked its client a question. */
  readonly onQuestion: LinkEvents['onQuestion']
  readonly policy: RestartPolicy
  /** It was opened in an era that the server may not speak: called instead of a restart if it does not. */
  readonly onRefusedEra?: (() => void) | undefined
  /** How long a start may take, if that is longer than calls wait for it (`timeouts.startup`). */
  readonly startTimeoutMs?: number | undefined
  readonly now: () => number
  readonly random: () => number
  /** The era of the last run: makes the probe unnecessary. */
  readonly knownEra: 'legacy' | 'modern' | undefined
}

/** The errors of a server that exits, depending on when it does. */
const EXITED_CODES: ReadonlySet<ErrorCode> = new Set(['UPSTREAM_DIED', 'UPSTREAM_GONE'])
/** The errors of a server that does not speak the era of a handshake. */
const REFUSED_ERA_CODES: ReadonlySet<ErrorCode> = new Set([...EXITED_CODES, 'UPSTREAM_PROTOCOL', 'UPSTREAM_TIMEOUT'])

const isUnsandboxed = (config: UpstreamConfig): boolean => config.kind === 'stdio' && config.sandbox?.driver === 'none'

/** A session that ends sooner is not renewed before a call needs it. */
const MIN_SESSION_MS = 10_000

/** One connection to a server, shared or dedicated, which is restarted when it dies. */
export class ServerConnection implements Upstream {
  readonly config: UpstreamConfig
  readonly watch: ResourceWatch
  readonly #options: ServerConnectionOptions
  readonly #current: CurrentState
  #link: Link | undefined
  /** Links that were replaced, with calls that may still be answered. */
  readonly #replaced = new Set<Link>()
  /** Resolves when the process is gone beside which the present one was started. */
  #predecessor: Promise<void> | undefined
  #transport: { readonly pid?: number | undefined; readonly hasSession?: boolean } | undefined
  #era: 'legacy' | 'modern' | undefined
  #deaths: DeathRecord = NO_DEATHS
  #restarts = 0
  readonly #startWaiters = new StartWaiters()
  #restartTimer: NodeJS.Timeout | undefined
  readonly #idleTimer: IdleTimer
  readonly #health: HealthCheck
  readonly #timeouts: CallTimeouts
  #handshake: HandshakeResult | undefined
  #logLevel: LogLevelSetting | undefined
  /** A list changed while the lists were being read. */
  #listsChanged = false
  /** Which lists: a client may want to know even if we see no difference. */
  #announced = new Set<string>()
  readonly #refresh = new CatalogRefresh(() => this.#refreshCatalog())
  #closing: Promise<void> | undefined
  /** Connections that are closing: `close` waits for the last of their processes. */
  readonly #closingLinks = new Set<Promise<void>>()

  constructor(options: ServerConnectionOptions) {
    this.#options = options
    this.config = options.config
    this.#era = options.knownEra
    const { call, callMaximum, idle } = options.config.timeouts
    this.#timeouts = { timeout: call, maximum: callMaximum }
    const idleFor = (): number => (this.watch.isHeld ? 0 : (this.#link?.idleFor ?? 0))
    this.#idleTimer = new IdleTimer({ afterMs: idle, idleFor, onIdle: () => this.#stopIdle() })
    this.#health = new HealthCheck({
      intervalMs: options.config.timeouts.health,
      now: options.now,
      onChange: (health) => this.#onHealthChange(health),
    })
    this.#current = new CurrentState(options.config.enabled ? 'stopped' : 'disabled', options.now)
    this.#current.reason = options.config.heldBack
    this.watch = new ResourceWatch({ config: this.config, onWarning: (text) => this.#logMessage(text) })
  }

  status(): UpstreamStatus {
    const { state, since, reason, retryAt } = this.#current
    return {
      id: this.config.id,
      kind: this.config.kind,
      state,
      since,
      reason,
      retryAt,
      restarts: this.#restarts,
      era: state === 'ready' ? this.#era : undefined,
      pid: this.#transport?.pid,
      ...{ messages: this.#options.messages.tail(), messageCount: this.#options.messages.written },
      dropped: this.#options.dropped.counts,
      health: state === 'ready' ? this.#health.health : undefined,
      takesCallers: state === 'ready' && this.config.identity ? this.#link?.namesCallers : undefined,
    }
  }

  get #state(): UpstreamState {
    return this.#current.state
  }

  start(): void {
    if (this.#state !== 'stopped') return
    this.#setState('starting')
    void this.#connect()
  }

  request(call: ClientCall): Promise<UpstreamReply> {
    const isPlain = call.subscription === undefined && call.client?.logLevel === undefined
    if (this.#link && this.#state === 'ready' && isPlain) {
      this.watch.flush()
      return this.#link.call(call, timeoutsFor(call, this.#timeouts))
    }
    return this.#requestAfterWaiting(call)
  }

  async #requestAfterWaiting(call: ClientCall): Promise<UpstreamReply> {
    const link = await this.#waitForLink(call)
    if (call.subscription) return this.watch.subscribe(call.subscription, call)
    this.watch.flush()
    return link.call(call, timeoutsFor(call, this.#timeouts))
  }

  /** For a call that met an expired session. */
  async #resend(call: OutgoingCall): Promise<UpstreamReply> {
    const link = await this.#waitForLink(call)
    return link.call(call, timeoutsFor(call, this.#timeouts))
  }

  async #waitForLink({ cancellation, client }: OutgoingCall): Promise<Link> {
    if (this.#state === 'stopped') this.start()
    // If it is not known whether the server speaks this era, only the end of the start shows it.
    const limit = this.#options.onRefusedEra ? undefined : this.config.timeouts.startup
    if (this.#state === 'starting') await this.#startWaiters.wait(limit, cancellation)
    if (this.#state !== 'ready' || !this.#link) throw stateRefusal(this.status(), this.#options.now())
    const link = this.#link
    if (client?.logLevel !== undefined) await this.#logLevel?.ensureLevel(client.logLevel)
    return link
  }

  notifyConversation(_conversation: string, notice: ConversationEvent): void {
    // A server that is starting knows nothing yet that could have changed.
    if (notice !== 'over' && this.#state === 'ready') this.#link?.notify(notice)
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  async #shutDown(): Promise<void> {
    clearTimeout(this.#restartTimer)
    this.#idleTimer.stop()
    this.#refresh.stop()
    this.#setState('closed', 'the gateway closed it')
    this.#dropLink()
    for (const link of this.#replaced) this.#closeLink(link.close())
    this.watch.close()
    this.#startWaiters.wakeAll()
    await Promise.all(this.#closingLinks)
  }

  #dropLink(): void {
    const link = this.#link
    this.#link = undefined
    this.#health.stop()
    this.watch.disconnected()
    if (link) this.#closeLink(link.close())
  }

  #closeLink(closing: Promise<void>): void {
    const gone = closing
      .catch((error: unknown) => this.#logMessage(`it could not be closed properly: ${messageOf(error)}`))
      .finally(() => this.#closingLinks.delete(gone))
    this.#closingLinks.add(gone)
  }

  /** The server is well, it only forgot our session: a new one begins, without the delays that follow a crash. */
  #renewSession(link: Link, cause: 'call' | 'background'): void {
    if (this.#link !== link || this.#state !== 'ready') return
    // The next call will need it anyway. A server that forgets each session at once must not keep us busy.
    if (cause === 'background' && this.#current.age < MIN_SESSION_MS) return
    this.#link = undefined
    this.#dropLink()
    this.#replaced.add(link)
    this.#closeLink(link.closeWhenIdle().finally(() => this.#replaced.delete(link)))
    this.#setState('starting', 'its session expired')
    void this.#connect()
  }

  /** Another process starts at once, beside this one, which still answers what it has got. */
  #replaceProcess(link: Link): void {
    if (this.#link !== link) return
    const wasReady = this.#state === 'ready'
    // First of all, so that the calls which it gives back do not come here again.
    this.#link = undefined
    this.#dropLink()
    if (isUnsandboxed(this.config)) this.#stayStopped('it runs without a sandbox, and its session holds private data')
    else this.#setState('starting', 'its session may reach less now')
    // A handshake is only repeated.
    const closing = wasReady ? link.retire() : link.close()
    this.#replaced.add(link)
    this.#closeLink(closing.finally(() => this.#replaced.delete(link)))
    if (isUnsandboxed(this.config)) return
    this.#predecessor = closing.catch(() => undefined)
    void this.#connect()
  }

  /** Without a sandbox it does not run for its session any more, and a session never becomes less private. */
  #stayStopped(reason: string): void {
    this.#dropLink()
    this.#setState('stopped', reason)
    this.#startWaiters.wakeAll()
  }

  /** Perhaps two of them cannot run at the same time: it is started again when the other one is gone. */
  #connectAlone(predecessor: Promise<void>): void {
    this.#predecessor = undefined
    this.#dropLink()
    this.#setState('starting', 'its session may reach less now')
    void predecessor.then(() => {
      if (this.#state === 'starting' && this.#link === undefined) void this.#connect()
    })
  }

  async #connect(): Promise<void> {
    const startedAt = performance.now()
    let link: Link | undefined
    try {
      link = this.#createLink()
      this.#link = link
      await link.open()
      const catalog = await this.#initialize(link)
      if (link.closeReason !== undefined) throw new SallyportError('UPSTREAM_DIED', `It ${link.closeReason}.`)
      this.#onConnected(link, catalog, performance.now() - startedAt)
    } catch (error) {
      if (this.#link === link) this.#onFailed(error)
    }
  }

  #createLink(): Link {
    const transport = this.#options.createTransport()
    this.#transport = transport
    const events = this.#linkEvents(() => link)
    const isBuiltIn = this.config.kind === 'built-in'
    const link: Link = new Link(transport, events, { ...this.#options.identity, isBuiltIn, server: this.config.id })
    return link
  }

  async #initialize(link: Link): Promise<ServerCatalog> {
    const era = this.config.era === 'auto' ? (this.#era ?? 'auto') : this.config.era
    const timeout = this.#options.startTimeoutMs ?? this.config.timeouts.startup
    const opening = await performHandshake(link, { era, timeout })
    // Without a session a legacy server cannot ask its client anything; over the modern connection it can.
    if (this.#options.onRefusedEra && this.#transport?.hasSession === false)
      throw new SallyportError('UPSTREAM_PROTOCOL', 'The server has no sessions in the legacy era.')
    return fetchCatalog(link, opening, { timeout, kind: this.config.kind })
  }

  #linkEvents(link: () => Link): LinkEvents {
    const isCurrent = (): boolean => this.#link === link()
    return {
      onNotification: (notification: JsonObject) => isCurrent() && this.#onNotification(notification),
      onQuestion: (scope) => isCurrent() && this.#options.onQuestion(scope),
      onWarning: (text: string) => this.#logMessage(text),
      onDropped: (reason) => this.#onDropped(reason),
      onSessionExpired: (cause) => this.#renewSession(link(), cause),
      onTooWide: () => this.#replaceProcess(link()),
      resend: (call) => this.#resend(call),
      onClose: (reason: string) => isCurrent() && this.#state === 'ready' && this.#onLost(reason),
    }
  }

  #onConnected(link: Link, catalog: ServerCatalog, took: number): void {
    this.#era = catalog.era
    this.#handshake = pickHandshake(catalog)
    const mayLog = catalog.era === 'legacy' && catalog.capabilities.logging !== undefined
    const level = this.#logLevel?.level
    this.#logLevel = mayLog ? new LogLevelSetting(link, this.config.timeouts.call) : undefined
    if (level !== undefined) void this.#logLevel?.ensureLevel(level)
    this.#predecessor = undefined
    const [{ id }, { attempt }] = [this.config, this.#deaths]
    // A server that was idle was started on purpose, so earlier crashes do not count.
    const wasLost = this.#state !== 'starting'
    if (wasLost) this.#restarts++
    this.#options.listener.onEvent(
      wasLost
        ? { type: 'UPSTREAM_RESTARTED', server: id, attempt, took_ms: Math.round(took) }
        : { type: 'UPSTREAM_CONNECTED', server: id, era: catalog.era, took_ms: Math.round(took) },
    )
    this.#setState('ready')
    this.#options.listener.onCatalog(catalog)
    if (this.#listsChanged) this.#refresh.schedule()
    this.#listsChanged = false
    this.watch.connected(link, this.#handshake)
    this.#startWaiters.wakeAll()
    this.#idleTimer.start()
    this.#health.start(link, catalog.era)
  }

  /** The connection failed, or the handshake did. */
  #onFailed(error: unknown): void {
    const failure =
      error instanceof SallyportError
        ? error
        : new SallyportError('UPSTREAM_UNAVAILABLE', String(error), { cause: error })
    if (isUnsandboxed(this.config) && failure.code === 'SANDBOX_UNAVAILABLE') return this.#stayStopped(failure.text)
    if (this.#predecessor !== undefined) return this.#connectAlone(this.#predecessor)
    const probing = this.config.era === 'auto' && this.#era === undefined && EXITED_CODES.has(failure.code)
    if (probing) {
      // Some servers exit when they get a method that they do not know.
      this.#dropLink()
      this.#era = 'legacy'
      void this.#connect()
      return
    }
    if (this.#options.onRefusedEra && !this.#handshake && REFUSED_ERA_CODES.has(failure.code)) {
      this.#options.onRefusedEra()
      this.#startWaiters.wakeAll()
      return
    }
    if (this.config.era === 'auto') this.#era = undefined
    // The error may quote the server. A handshake has no side effects, and is retried automatically.
    const { message, text, hint } = failure
    const reason = this.#options.messages.mask(hint?.includes(MAY_HAVE_RUN_HINT) ? message : text)
    if (failure.code === 'UPSTREAM_NEEDS_LOGIN') {
      this.#dropLink()
      const isNews = this.#state !== 'needs-login'
      this.#setState('needs-login', reason)
      if (isNews) this.#options.listener.onEvent({ type: 'UPSTREAM_NEEDS_LOGIN', server: this.config.id, reason })
      this.#retryIn(this.#options.policy.probeInterval)
      this.#startWaiters.wakeAll()
      return
    }
    this.#onLost(reason)
  }

  #onLost(reason: string): void {
    this.#dropLink()
    const healthyFor = this.#state === 'ready' ? this.#current.age : 0
    const plan = planRestart(
      this.#deaths,
      { at: performance.now(), healthyFor, random: this.#options.random() },
      this.#options.policy,
    )
    this.#deaths = plan.record
    this.#options.listener.onEvent({ type: 'UPSTREAM_LOST', server: this.config.id, reason })
    this.#setState(plan.state, reason)
    this.#retryIn(plan.delay)
    this.#startWaiters.wakeAll()
  }

  #retryIn(delay: number): void {
    this.#current.retryAt = this.#options.now() + delay
    this.#restartTimer = setTimeout(() => void this.#connect(), delay)
  }

  #setState(state: UpstreamState, reason?: string): void {
    this.#current.changeTo(state, reason)
    clearTimeout(this.#restartTimer)
  }

  #onNotification(notification: JsonObject): void {
    if (this.watch.handles(notification)) return
    this.#announced.add(String(notification.method).split('/')[1] ?? '')
    if (this.#state === 'ready') this.#refresh.schedule()
    else this.#listsChanged = true
  }

  async #refreshCatalog(): Promise<void> {
    const link = this.#link
    if (!link || !this.#handshake || this.#state !== 'ready') return
    const announced = this.#announced
    this.#announced = new Set()
    try {
      const catalog = await fetchCatalog(link, this.#handshake, {
        timeout: this.config.timeouts.startup,
        kind: this.config.kind,
      })
      if (this.#link !== link) return
      const { listener } = this.#options
      listener.onCatalog(catalog)
      listener.onListsAnnounced?.({
        tools: announced.has('tools'),
        resources: announced.has('resources'),
        prompts: announced.has('prompts'),
      })
    } catch (error) {
      this.#logMessage(`its lists could not be read again: ${messageOf(error)}`)
    }
  }

  #onHealthChange({ isHealthy, reason = '' }: Health): void {
    const { id } = this.config
    const { listener, messages } = this.#options
    // The error may quote the server.
    const why = messages.mask(reason)
    if (!isHealthy) this.#logMessage(`the health check failed: ${why}`)
    listener.onEvent(
      isHealthy ? { type: 'UPSTREAM_HEALTHY', server: id } : { type: 'UPSTREAM_UNHEALTHY', server: id, reason: why },
    )
  }

  #onDropped(reason: DropReason): void {
    const line = this.#options.dropped.add(reason)
    if (line !== undefined) this.#logMessage(line)
  }

  /** Our own remarks are marked as ours, because they are shown among the server's output. */
  #logMessage(text: string): void {
    this.#options.messages.push(Buffer.from(`[sallyport] ${text}\n`))
  }

  #stopIdle(): void {
    if (this.#state !== 'ready') return
    this.#setState('stopped', 'it was idle; it starts again on the next call')
    this.#dropLink()
    this.#deaths = { ...this.#deaths, attempt: 0 }
  }
}

/** The current state of a server, since when, and why. */
class CurrentState {
  state: UpstreamState
  /** For display. */
  since: number
  reason: string | undefined
  retryAt: number | undefined
  readonly #now: () => number
  /** By a monotonic clock. */
  #changedAt = performance.now()

  constructor(state: UpstreamState, now: () => number) {
    this.state = state
    this.since = now()
    this.#now = now
  }

  /** How long it has been in this state, in milliseconds. */
  get age(): number {
    return performance.now() - this.#changedAt
  }

  changeTo(state: UpstreamState, reason?: string): void {
    this.state = state
    this.since = this.#now()
    this.reason = reason
    this.retryAt = undefined
    this.#changedAt = performance.now()
  }
}
