import { type JsonObject, SallyportError } from '@sallyport/core'
import { CatalogueRefresh } from './catalogue-refresh.ts'
import { type Opening, shakeHands } from './handshake.ts'
import { Link } from './link.ts'
import { listenForChanges } from './list-changes.ts'
import { type DeathRecord, NO_DEATHS, planRestart, type RestartPolicy } from './restart-policy.ts'
import type { Upstream, UpstreamListener, UpstreamReply, UpstreamRequest } from './server-behind.ts'
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
  readonly listener: UpstreamListener
  readonly clientInfo: JsonObject
  readonly policy: RestartPolicy
  readonly now: () => number
  readonly random: () => number
  /** The era that it spoke last time: spares the probe. */
  readonly knownEra: 'legacy' | 'modern' | undefined
}

/** One connection that all sessions share, brought back when it dies. */
export class SharedUpstream implements Upstream {
  readonly config: UpstreamConfig
  readonly #options: SharedUpstreamOptions
  #state: UpstreamState
  #since: number
  /** When it became what it is, by a clock that nobody sets; `since` is for being shown. */
  #becameAt = performance.now()
  #reason: string | undefined
  #retryAt: number | undefined
  #link: Link | undefined
  #transport: { readonly pid?: number | undefined } | undefined
  #era: 'legacy' | 'modern' | undefined
  #deaths: DeathRecord = NO_DEATHS
  #restarts = 0
  readonly #waiting = new WaitingRoom()
  #restartTimer: NodeJS.Timeout | undefined
  #idleTimer: NodeJS.Timeout | undefined
  #opening: Opening | undefined
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
    this.#state = options.config.enabled ? 'stopped' : 'disabled'
    this.#since = options.now()
  }

  status(): UpstreamStatus {
    return {
      id: this.config.id,
      kind: this.config.kind,
      state: this.#state,
      since: this.#since,
      reason: this.#reason,
      retryAt: this.#retryAt,
      restarts: this.#restarts,
      era: this.#state === 'ready' ? this.#era : undefined,
      pid: this.#transport?.pid,
      messages: this.#options.messages.tail(),
    }
  }

  start(): void {
    if (this.#state !== 'stopped') return
    this.#become('starting')
    void this.#connect()
  }

  async request(request: UpstreamRequest): Promise<UpstreamReply> {
    if (this.#state === 'stopped') this.start()
    if (this.#state === 'starting') await this.#waiting.wait(this.config.timeouts.startup, request.cancellation)
    if (this.#state !== 'ready' || !this.#link) throw this.#refusal()
    const { call, callMaximum } = this.config.timeouts
    try {
      const frame = await this.#link.request({ ...request, timeout: call, maximum: callMaximum })
      return { frame, era: this.#era ?? 'legacy' }
    } finally {
      this.#restIfIdle()
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown()
    return this.#closing
  }

  async #shutDown(): Promise<void> {
    clearTimeout(this.#restartTimer)
    clearTimeout(this.#idleTimer)
    this.#refresh.stop()
    this.#become('closed', 'the gateway closed it')
    this.#dropLink()
    this.#waiting.wakeAll()
    await Promise.all(this.#retiring)
  }

  #dropLink(): void {
    const link = this.#link
    this.#link = undefined
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
    const link: Link = new Link(
      transport,
      this.#linkEvents(() => link),
      this.#options.clientInfo,
    )
    return link
  }

  async #acquaint(link: Link): Promise<ServerCatalogue> {
    const era = this.config.era === 'auto' ? (this.#era ?? 'auto') : this.config.era
    const timeout = this.config.timeouts.startup
    const opening = await shakeHands(link, { era, timeout, clientInfo: this.#options.clientInfo })
    return fetchCatalogue(link, opening, timeout)
  }

  #linkEvents(link: () => Link) {
    const isCurrent = (): boolean => this.#link === link()
    return {
      onNotification: (notification: JsonObject) => isCurrent() && this.#notified(notification),
      onTrouble: (text: string) => this.#note(text),
      onClose: (reason: string) => isCurrent() && this.#state === 'ready' && this.#lost(reason),
    }
  }

  #connected(link: Link, catalogue: ServerCatalogue, took: number): void {
    this.#era = catalogue.era
    this.#opening = catalogue
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
    if (catalogue.era === 'modern')
      listenForChanges(link, catalogue, () => this.#link === link && this.#state === 'ready')
    this.#waiting.wakeAll()
    this.#restIfIdle()
  }

  /** The connection could not be made, or not be understood. */
  #failed(error: unknown): void {
    const failure =
      error instanceof SallyportError
        ? error
        : new SallyportError('UPSTREAM_UNAVAILABLE', String(error), { cause: error })
    const probing = this.config.era === 'auto' && this.#era === undefined && failure.code === 'UPSTREAM_DIED'
    if (probing) {
      // Some servers exit when they are asked for a method that they do not know.
      this.#dropLink()
      this.#era = 'legacy'
      void this.#connect()
      return
    }
    if (this.config.era === 'auto') this.#era = undefined
    // It may quote what the server said.
    const reason = this.#options.messages.mask(failure.text)
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
    const now = performance.now()
    const healthyFor = this.#state === 'ready' ? now - this.#becameAt : 0
    const plan = planRestart(
      this.#deaths,
      { at: now, healthyFor, random: this.#options.random() },
      this.#options.policy,
    )
    this.#deaths = plan.record
    this.#options.listener.onEvent({ type: 'UPSTREAM_LOST', server: this.config.id, reason })
    this.#become(plan.state, reason)
    this.#retryIn(plan.delay)
    this.#waiting.wakeAll()
  }

  #retryIn(delay: number): void {
    this.#retryAt = this.#options.now() + delay
    this.#restartTimer = setTimeout(() => void this.#connect(), delay)
  }

  #become(state: UpstreamState, reason?: string): void {
    this.#state = state
    this.#since = this.#options.now()
    this.#becameAt = performance.now()
    this.#reason = reason
    this.#retryAt = undefined
    clearTimeout(this.#restartTimer)
  }

  #notified(notification: JsonObject): void {
    if (!/^notifications\/(tools|prompts|resources)\/list_changed$/.test(String(notification.method)))
      this.#options.listener.onNotification(notification)
    else if (this.#state === 'ready') this.#refresh.soon()
    else this.#changedMeanwhile = true
  }

  async #lookAgain(): Promise<void> {
    const link = this.#link
    if (!link || !this.#opening || this.#state !== 'ready') return
    try {
      const catalogue = await fetchCatalogue(link, this.#opening, this.config.timeouts.startup)
      if (this.#link === link) this.#options.listener.onCatalogue(catalogue)
    } catch (error) {
      this.#note(`its lists could not be read again: ${messageOf(error)}`)
    }
  }

  /** Our own remarks stand among the server's words, marked as ours. */
  #note(text: string): void {
    this.#options.messages.push(Buffer.from(`[sallyport] ${text}\n`))
  }

  #restIfIdle(): void {
    const { idle } = this.config.timeouts
    if (idle === undefined || this.#state !== 'ready') return
    clearTimeout(this.#idleTimer)
    this.#idleTimer = setTimeout(() => this.#rest(), idle)
  }

  #rest(): void {
    const link = this.#link
    if (!link || this.#state !== 'ready') return
    if (link.inFlight > 0) return this.#restIfIdle()
    this.#become('stopped', 'nobody called it for a while; it comes back on the next call')
    this.#dropLink()
    this.#deaths = { ...this.#deaths, attempt: 0 }
  }

  #refusal(): SallyportError {
    const { id } = this.config
    return stateRefusal({ id, state: this.#state, reason: this.#reason, retryAt: this.#retryAt }, this.#options.now())
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
