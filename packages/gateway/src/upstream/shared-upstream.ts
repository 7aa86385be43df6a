import { type ErrorCode, type JsonObject, MAY_BE_DONE, messageOf, SallyportError } from '@sallyport/core'
import { CatalogueRefresh } from './catalogue-refresh.ts'
import { Condition } from './condition.ts'
import type { DroppedMessages, DropReason } from './dropped-messages.ts'
import { type Patience, patienceFor } from './exchange.ts'
import { type Opening, shakeHands } from './handshake.ts'
import { type Health, HealthCheck } from './health-check.ts'
import { IdleTimer } from './idle-timer.ts'
import { Link, type LinkEvents, type Speaker } from './link.ts'
import { LogLevelSetting } from './log-level.ts'
import type { ClientCall } from './outgoing-call.ts'
import { ResourceWatch } from './resource-watch.ts'
import { type DeathRecord, NO_DEATHS, planRestart, type RestartPolicy } from './restart-policy.ts'
import type { ConversationNotice, Upstream, UpstreamListener, UpstreamReply } from './server-behind.ts'
import { fetchCatalogue, type ServerCatalogue } from './server-catalogue.ts'
import { stateRefusal } from './state-refusal.ts'
import type { StderrTail } from './stderr-tail.ts'
import type { Transport } from './transport.ts'
import type { UpstreamConfig } from './upstream-config.ts'
import type { UpstreamState, UpstreamStatus } from './upstream-status.ts'
import { WaitingRoom } from './waiting-room.ts'

export interface SharedUpstreamOptions {
  readonly config: UpstreamConfig
  readonly createTransport: () => Transport & { readonly pid?: number | undefined }
  readonly messages: StderrTail
  /** Of all connections to the server. */
  readonly dropped: DroppedMessages
  readonly listener: UpstreamListener
  readonly speaker: Speaker
  /** The server asked something of its client. */
  readonly onAsked: LinkEvents['onAsked']
  readonly policy: RestartPolicy
  /** How long a start may take, where that is longer than calls wait for it (`timeouts.startup`). */
  readonly longestStart?: number | undefined
  readonly now: () => number
  readonly random: () => number
  /** The era that it spoke last time: spares the probe. */
  readonly knownEra: 'legacy' | 'modern' | undefined
}

/** How a server that exits shows, by when it does. */
const LEFT: ReadonlySet<ErrorCode> = new Set(['UPSTREAM_DIED', 'UPSTREAM_GONE'])

/** One connection to a server, for all or for those who must not share, brought back when it dies. */
export class SharedUpstream implements Upstream {
  readonly config: UpstreamConfig
  readonly watch: ResourceWatch
  readonly #options: SharedUpstreamOptions
  readonly #condition: Condition
  #link: Link | undefined
  #transport: { readonly pid?: number | undefined } | undefined
  #era: 'legacy' | 'modern' | undefined
  #deaths: DeathRecord = NO_DEATHS
  #restarts = 0
  readonly #waiting = new WaitingRoom()
  #restartTimer: NodeJS.Timeout | undefined
  readonly #idle: IdleTimer
  readonly #health: HealthCheck
  readonly #patience: Patience
  #opening: Opening | undefined
  #logLevel: LogLevelSetting | undefined
  /** A list changed while the lists were being read. */
  #changedMeanwhile = false
  readonly #refresh = new CatalogueRefresh(() => this.#lookAgain())
  #closing: Promise<void> | undefined
  /** Connections on their way out: closing waits for the last of their processes. */
  readonly #retiring = new Set<Promise<void>>()

  constructor(options: SharedUpstreamOptions) {
    this.#options = options
    this.config = options.config
    this.#era = options.knownEra
    const { call, callMaximum, idle } = options.config.timeouts
    this.#patience = { timeout: call, maximum: callMaximum }
    const idleFor = (): number => (this.watch.isHeld ? 0 : (this.#link?.idleFor ?? 0))
    this.#idle = new IdleTimer({ after: idle, idleFor, onIdle: () => this.#rest() })
    this.#health = new HealthCheck({
      every: options.config.timeouts.health,
      now: options.now,
      onChange: (health) => this.#checked(health),
    })
    this.#condition = new Condition(options.config.enabled ? 'stopped' : 'disabled', options.now)
    this.#condition.reason = options.config.heldBack
    this.watch = new ResourceWatch({ config: this.config, onTrouble: (text) => this.#note(text) })
  }

  status(): UpstreamStatus {
    const { state, since, reason, retryAt } = this.#condition
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
      messages: this.#options.messages.tail(),
      dropped: this.#options.dropped.counts,
      health: state === 'ready' ? this.#health.health : undefined,
    }
  }

  get #state(): UpstreamState {
    return this.#condition.state
  }

  start(): void {
    if (this.#state !== 'stopped') return
    this.#become('starting')
    void this.#connect()
  }

  request(call: ClientCall): Promise<UpstreamReply> {
    const isPlain = call.subscription === undefined && call.client?.logLevel === undefined
    if (this.#link && this.#state === 'ready' && isPlain)
      return this.#link.call(call, patienceFor(call, this.#patience))
    return this.#requestAfterWaiting(call)
  }

  async #requestAfterWaiting(call: ClientCall): Promise<UpstreamReply> {
    if (this.#state === 'stopped') this.start()
    if (this.#state === 'starting') await this.#waiting.wait(this.config.timeouts.startup, call.cancellation)
    if (this.#state !== 'ready' || !this.#link) throw stateRefusal(this.status(), this.#options.now())
    const link = this.#link
    if (call.client?.logLevel !== undefined) await this.#logLevel?.atLeast(call.client.logLevel)
    if (call.subscription) return this.watch.subscribe(call.subscription, call)
    return link.call(call, patienceFor(call, this.#patience))
  }

  tell(_conversation: string, notice: ConversationNotice): void {
    // One that is starting has not been told anything yet that could have changed.
    if (notice !== 'over' && this.#state === 'ready') this.#link?.notify(notice)
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  async #shutDown(): Promise<void> {
    clearTimeout(this.#restartTimer)
    this.#idle.stop()
    this.#refresh.stop()
    this.#become('closed', 'the gateway closed it')
    this.#dropLink()
    this.watch.close()
    this.#waiting.wakeAll()
    await Promise.all(this.#retiring)
  }

  #dropLink(): void {
    const link = this.#link
    this.#link = undefined
    this.#health.stop()
    this.watch.disconnected()
    if (!link) return
    const gone = link
      .close()
      .catch((error: unknown) => this.#note(`it could not be closed properly: ${messageOf(error)}`))
      .finally(() => this.#retiring.delete(gone))
    this.#retiring.add(gone)
  }

  async #connect(): Promise<void> {
    const startedAt = performance.now()
    let link: Link | undefined
    try {
      link = this.#createLink()
      this.#link = link
      await link.open()
      const catalogue = await this.#acquaint(link)
      if (link.closedBecause !== undefined) throw new SallyportError('UPSTREAM_DIED', `It ${link.closedBecause}.`)
      this.#connected(link, catalogue, performance.now() - startedAt)
    } catch (error) {
      if (this.#link === link) this.#failed(error)
    }
  }

  #createLink(): Link {
    const transport = this.#options.createTransport()
    this.#transport = transport
    const events = this.#linkEvents(() => link)
    const isBuiltIn = this.config.kind === 'built-in'
    const link: Link = new Link(transport, events, { ...this.#options.speaker, isBuiltIn, server: this.config.id })
    return link
  }

  async #acquaint(link: Link): Promise<ServerCatalogue> {
    const era = this.config.era === 'auto' ? (this.#era ?? 'auto') : this.config.era
    const timeout = this.#options.longestStart ?? this.config.timeouts.startup
    const opening = await shakeHands(link, { era, timeout })
    return fetchCatalogue(link, opening, { timeout, kind: this.config.kind })
  }

  #linkEvents(link: () => Link): LinkEvents {
    const isCurrent = (): boolean => this.#link === link()
    return {
      onNotification: (notification: JsonObject) => isCurrent() && this.#notified(notification),
      onAsked: (habit) => isCurrent() && this.#options.onAsked(habit),
      onTrouble: (text: string) => this.#note(text),
      onDropped: (reason) => this.#dropped(reason),
      onClose: (reason: string) => isCurrent() && this.#state === 'ready' && this.#lost(reason),
    }
  }

  #connected(link: Link, catalogue: ServerCatalogue, took: number): void {
    this.#era = catalogue.era
    this.#opening = catalogue
    const mayLog = catalogue.era === 'legacy' && catalogue.capabilities.logging !== undefined
    this.#logLevel = mayLog ? new LogLevelSetting(link, this.config.timeouts.call) : undefined
    const { id } = this.config
    const { attempt } = this.#deaths
    // One that rested was started on purpose, whatever befell it earlier.
    const wasLost = this.#state !== 'starting'
    if (wasLost) this.#restarts++
    this.#options.listener.onEvent(
      wasLost
        ? { type: 'UPSTREAM_RESTARTED', server: id, attempt, took_ms: Math.round(took) }
        : { type: 'UPSTREAM_CONNECTED', server: id, era: catalogue.era, took_ms: Math.round(took) },
    )
    this.#become('ready')
    this.#options.listener.onCatalogue(catalogue)
    if (this.#changedMeanwhile) this.#refresh.soon()
    this.#changedMeanwhile = false
    this.watch.connected(link, catalogue)
    this.#waiting.wakeAll()
    this.#idle.start()
    this.#health.start(link, catalogue.era)
  }

  /** The connection could not be made, or not be understood. */
  #failed(error: unknown): void {
    const failure =
      error instanceof SallyportError
        ? error
        : new SallyportError('UPSTREAM_UNAVAILABLE', String(error), { cause: error })
    const probing = this.config.era === 'auto' && this.#era === undefined && LEFT.has(failure.code)
    if (probing) {
      // Some servers exit when they are asked for a method that they do not know.
      this.#dropLink()
      this.#era = 'legacy'
      void this.#connect()
      return
    }
    if (this.config.era === 'auto') this.#era = undefined
    // It may quote what the server said. A greeting has no effects, and is made again by itself.
    const { message, text, hint } = failure
    const reason = this.#options.messages.mask(hint?.includes(MAY_BE_DONE) ? message : text)
    if (failure.code === 'UPSTREAM_NEEDS_LOGIN') {
      this.#dropLink()
      const isNews = this.#state !== 'needs-login'
      this.#become('needs-login', reason)
      if (isNews) this.#options.listener.onEvent({ type: 'UPSTREAM_NEEDS_LOGIN', server: this.config.id, reason })
      this.#retryIn(this.#options.policy.probeEvery)
      this.#waiting.wakeAll()
      return
    }
    this.#lost(reason)
  }

  #lost(reason: string): void {
    this.#dropLink()
    const healthyFor = this.#state === 'ready' ? this.#condition.age : 0
    const plan = planRestart(
      this.#deaths,
      { at: performance.now(), healthyFor, random: this.#options.random() },
      this.#options.policy,
    )
    this.#deaths = plan.record
    this.#options.listener.onEvent({ type: 'UPSTREAM_LOST', server: this.config.id, reason })
    this.#become(plan.state, reason)
    this.#retryIn(plan.delay)
    this.#waiting.wakeAll()
  }

  #retryIn(delay: number): void {
    this.#condition.retryAt = this.#options.now() + delay
    this.#restartTimer = setTimeout(() => void this.#connect(), delay)
  }

  #become(state: UpstreamState, reason?: string): void {
    this.#condition.become(state, reason)
    clearTimeout(this.#restartTimer)
  }

  #notified(notification: JsonObject): void {
    if (this.watch.takes(notification)) return
    if (this.#state === 'ready') this.#refresh.soon()
    else this.#changedMeanwhile = true
  }

  async #lookAgain(): Promise<void> {
    const link = this.#link
    if (!link || !this.#opening || this.#state !== 'ready') return
    try {
      const catalogue = await fetchCatalogue(link, this.#opening, {
        timeout: this.config.timeouts.startup,
        kind: this.config.kind,
      })
      if (this.#link === link) this.#options.listener.onCatalogue(catalogue)
    } catch (error) {
      this.#note(`its lists could not be read again: ${messageOf(error)}`)
    }
  }

  #checked({ isHealthy, reason = '' }: Health): void {
    const { id } = this.config
    const { listener, messages } = this.#options
    // It may quote what the server said.
    const why = messages.mask(reason)
    if (!isHealthy) this.#note(`the health check failed: ${why}`)
    listener.onEvent(
      isHealthy ? { type: 'UPSTREAM_HEALTHY', server: id } : { type: 'UPSTREAM_UNHEALTHY', server: id, reason: why },
    )
  }

  #dropped(reason: DropReason): void {
    const line = this.#options.dropped.add(reason)
    if (line !== undefined) this.#note(line)
  }

  /** Our own remarks stand among the server's words, marked as ours. */
  #note(text: string): void {
    this.#options.messages.push(Buffer.from(`[sallyport] ${text}\n`))
  }

  #rest(): void {
    if (this.#state !== 'ready') return
    this.#become('stopped', 'nobody called it for a while; it comes back on the next call')
    this.#dropLink()
    this.#deaths = { ...this.#deaths, attempt: 0 }
  }
}
