import { join } from 'node:path'
import { BUILT_IN_SERVER, messageOf, type SallyportEvent, visibleText } from '@sallyport/core'
import type { McpServer } from '@sallyport/kit'
import { AuditHealth } from './audit-health.ts'
import { Catalog, CatalogueShelf, discoveryOf } from './catalog/catalog.ts'
import { changedProfiles, differInProfilesAlone } from './changed-profiles.ts'
import { describeIssue, type Home, type LoadedSettings, type Profiles, type Settings } from './config/config.ts'
import { createDeciding, type Deciding } from './deciding.ts'
import { fixedAtStart } from './fixed-settings.ts'
import type { GatewayParts, OpenedParts } from './gateway-parts.ts'
import { Governing } from './governing.ts'
import { withoutQuotes } from './isolation/isolation.ts'
import { CallGauge, type Listings, type Pipeline } from './pipeline/pipeline.ts'
import { ChangeHub, createIds, type HttpMcp, type LegacySessions, type Methods, type Readiness } from './serve/serve.ts'
import { createServing, type Serving } from './serving.ts'
import {
  CredentialFailures,
  createLogins,
  type Gatekeeper,
  type LocalTokens,
  type Logins,
} from './sessions/sessions.ts'
import type { Store } from './store/store.ts'
import type { Telemetry } from './telemetry/telemetry.ts'
import { traceOf } from './trace-of.ts'
import {
  type Absence,
  builtInConfig,
  type ConversationNotice,
  Fleet,
  InProcessTransport,
  openOver,
  openUpstream,
  type ServerCatalogue,
  type StartTime,
  sweepProcesses,
  type UpstreamContext,
} from './upstream/upstream.ts'
import { VERSION } from './version.ts'

/** So many are said of one server at a time. */
const MAX_WARNINGS = 10

/** The gateway without its doors: everything between a request that was read and the servers behind. */
export class Gateway {
  readonly home: Home
  readonly state: string
  readonly store: Store
  readonly startedAt = Date.now()
  readonly catalog: Catalog
  readonly listings: Listings
  readonly pipeline: Pipeline
  readonly governing: Governing
  readonly gauge: CallGauge
  readonly fleet: Fleet
  readonly hub = new ChangeHub()
  readonly ids = createIds()
  readonly methods: Methods
  readonly sessions: LegacySessions
  readonly httpMcp: HttpMcp
  readonly bodies: Serving['bodies']
  readonly tokens: LocalTokens
  readonly gatekeeper: Gatekeeper
  readonly logins: Logins
  readonly audit: AuditHealth
  readonly failures = new CredentialFailures({ report: (event) => this.#credentialsRefused(event) })
  readonly builtIns: McpServer
  readonly telemetry: Telemetry
  readonly #parts: GatewayParts
  readonly #opened: OpenedParts
  readonly #shelf: CatalogueShelf
  readonly #context: UpstreamContext
  readonly #own = new Set<string>()
  #settings: Settings
  /** Of the configuration in force. */
  #warnings: readonly string[]
  /** What was said of what servers list and we do not offer. */
  readonly #leftOut = new Map<string, ReadonlySet<string>>()
  #starting: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(parts: GatewayParts, opened: OpenedParts) {
    this.#parts = parts
    this.#opened = opened
    this.#settings = parts.loaded.settings
    this.#warnings = parts.loaded.warnings.map(describeIssue)
    this.home = parts.home
    this.state = parts.state
    this.store = parts.store
    this.tokens = opened.tokens
    this.gatekeeper = opened.gatekeeper
    this.builtIns = opened.builtIns
    this.telemetry = opened.telemetry
    this.logins = createLogins()
    this.#shelf = new CatalogueShelf(parts.store.catalogues)
    this.audit = new AuditHealth({
      log: parts.store.log,
      folder: join(parts.state, 'logs'),
      isRequired: () => this.#settings.audit.required,
      onWarning: parts.onWarning,
    })
    this.#context = this.#createContext()
    this.catalog = new Catalog(this.#order(), this.#settings.gateway.naming)
    this.gauge = new CallGauge(() => this.#settings.gateway.maxCallsInFlight)
    this.governing = this.#createGoverning()
    this.fleet = this.#openFleet()
    const { listings, pipeline } = this.#createDeciding()
    this.listings = listings
    this.pipeline = pipeline
    const { methods, sessions, httpMcp, bodies } = this.#createServing()
    this.bodies = bodies
    this.methods = methods
    this.sessions = sessions
    this.httpMcp = httpMcp
    this.catalog.onChange((change) => this.hub.listsChanged(change))
  }

  readonly onConversation = (conversation: string, notice: ConversationNotice): void => {
    for (const upstream of this.fleet.all()) upstream.tell(conversation, notice)
    if (notice === 'over') this.governing.roots.forget(conversation)
  }

  /** Why a tool is missing whose server has not come up, for whoever calls it. */
  readonly absenceBehind = (tool: string): Absence | undefined => {
    const absence = this.fleet.absenceBehind(tool)
    // The reason may quote the server, and nobody knows yet which of its tools are quarantined.
    if (absence === undefined || !this.governing.hasQuarantine) return absence
    return { ...absence, refusal: withoutQuotes(absence.refusal) }
  }

  /** `places`: where rules stand. What clients see is the same. */
  #rulesChanged(what: 'lists' | 'places'): void {
    this.listings.forget()
    if (what === 'lists') this.hub.listsChanged({ tools: true, resources: true, prompts: true })
  }

  #createContext(): UpstreamContext {
    return {
      clientInfo: { name: 'sallyport', title: 'Sallyport', version: VERSION },
      environment: this.#parts.environment,
      watchdog: this.#opened.watchdog,
      runMark: this.#opened.marks.run,
      lastKnown: (server) => this.#shelf.lastKnown(server),
      now: () => Date.now(),
      random: () => Math.random(),
    }
  }

  #createGoverning(): Governing {
    const { catalog, store, home, state, telemetry } = this
    const { onWarning, onNotice = () => undefined, environment, loaded, discovery = 'writes', approver } = this.#parts
    return new Governing({
      ...{ catalog, store, home, state, environment, onWarning, onNotice, discovery, approver },
      tools: loaded.tools,
      settings: () => this.#settings,
      onBug: (error, where) => void this.#broke(error, where),
      onEvent: (event) => telemetry.happened(event),
      onChange: (what) => this.#rulesChanged(what),
    })
  }

  #createDeciding(): Deciding {
    const { catalog, governing, gauge, fleet, store, telemetry, ids, tokens } = this
    return createDeciding({
      ...{ catalog, governing, gauge, fleet, store, telemetry, ids, tokens, shelves: this.#opened.shelves },
      settings: () => this.#settings,
      onBug: ({ message, cause }) => this.#parts.onWarning(`${message} ${traceOf(cause)}`),
    })
  }

  #createServing(): Serving {
    const { catalog, listings, pipeline, fleet, hub, ids, onConversation, absenceBehind } = this
    return createServing({
      ...{ catalog, listings, pipeline, fleet, hub, ids, onConversation, absenceBehind },
      settings: () => this.#settings,
      onBug: (error, where) => this.#broke(error, where),
    })
  }

  #broke(error: unknown, where: string): string {
    const incident = this.ids.callId()
    this.#parts.onWarning(`incident ${incident} in ${where}: ${traceOf(error)}`)
    return incident
  }

  /** In one word, for who asks without a token. Only what is `ready` or in `lockdown` works as it should. */
  get readiness(): Readiness {
    if (this.audit.isDown) return 'audit-unavailable'
    if (!this.isReady) return 'starting'
    return this.governing.rules.modeState().mode === 'LOCKDOWN' ? 'lockdown' : 'ready'
  }

  /** Every server has been heard of, or has had its chance. */
  get isReady(): boolean {
    return this.fleet.untilKnown(this.#settings.gateway.startupWait) === undefined
  }

  get settings(): Settings {
    return this.#settings
  }

  /** What was known of the servers from before is on offer at once, whatever they are doing now. */
  recall(): void {
    this.record({ type: 'GATEWAY_STARTED', version: VERSION, pid: process.pid, home: this.home.path })
    const enabled = this.#settings.servers.filter((config) => config.enabled)
    for (const config of enabled) {
      const known = this.#shelf.load(config)
      if (known) this.catalog.put(config.id, known)
    }
    this.fleet.expect(enabled.map(({ id }) => id))
    this.adopt(BUILT_IN_SERVER, this.builtIns)
  }

  /** Puts the servers to work, in the background: whoever waits for our doors hears first that they are open. */
  start(when: StartTime = 'now'): void {
    for (const part of [this.governing, this.#opened.shelves]) part.start()
    this.#starting = this.fleet.untilWanted(this.isReady ? when : 'now').then(() => this.#startServers())
  }

  async #startServers(): Promise<void> {
    // Whatever an earlier gateway of this state left behind, killed together with its watchdog.
    await sweepProcesses({ mark: this.#opened.marks.state })
    if (this.#closing === undefined) this.fleet.arrange(this.#settings.servers, this.#own)
  }

  /** Serves tools that run in this process, under a server id of their own. */
  adopt(server: string, own: McpServer): void {
    const config = builtInConfig(server)
    this.#own.add(server)
    this.catalog.arrange(this.#order(), this.#settings.gateway.naming)
    const createTransport = () => new InProcessTransport({ server: own, maxMessageBytes: config.maxMessageBytes })
    this.fleet.adopt(server, (listener) => openOver({ config, listener, createTransport }, this.#context))
  }

  /** Puts a changed configuration in force, unless we are closing. What it did not change goes on undisturbed. */
  reload({ settings, warnings }: LoadedSettings): void {
    if (this.#closing !== undefined) return
    const isFollowed = differInProfilesAlone(this.#settings, settings)
    const texts = warnings.map(describeIssue)
    for (const text of texts) if (!isFollowed || !this.#warnings.includes(text)) this.#parts.onWarning(text)
    this.#warnings = texts
    if (isFollowed) return this.follow(settings.profiles)
    for (const key of fixedAtStart(this.#settings, settings))
      this.#parts.onWarning(`${key} has changed; that takes effect at the next start.`)
    this.gatekeeper.reload(settings.jwt)
    this.#tellProfiles(settings.profiles)
    this.#settings = settings
    this.store.retain(settings.audit.retention)
    const change = this.fleet.arrange(settings.servers, this.#own)
    this.governing.reload()
    this.listings.forget()
    this.catalog.arrange(this.#order(), settings.gateway.naming)
    this.record({ type: 'CONFIG_RELOADED', ...change })
  }

  /** Puts changed profiles in force. Only clients whose lists they change hear of it. */
  follow(profiles: Profiles): void {
    if (this.#closing !== undefined) return
    this.#tellProfiles(profiles)
    this.hub.changing(this.listings.sightOf, () => {
      this.#settings = { ...this.#settings, profiles }
      this.listings.forget()
    })
  }

  #tellProfiles(profiles: Profiles): void {
    const changed = changedProfiles(this.#settings.profiles, profiles)
    if (changed.length > 0) this.record({ type: 'PROFILES_CHANGED', profiles: changed })
  }

  /** A changed configuration is of no use: the last good one stays in force. */
  keepSettings(reason: string): void {
    this.#parts.onWarning(`The changed configuration is not used: ${reason}`)
    this.record({ type: 'CONFIG_REJECTED', message: reason })
  }

  /** What cannot be recorded here concerns no call; it is told, not lost silently. */
  record(event: SallyportEvent): void {
    this.telemetry.happened(event)
    try {
      this.store.log.append(event)
    } catch (error) {
      this.#parts.onWarning(`${event.type} could not be recorded: ${messageOf(error)}`)
    }
  }

  #credentialsRefused(event: Extract<SallyportEvent, { type: 'CREDENTIALS_REFUSED' }>): void {
    const { count, source } = event
    this.#parts.onWarning(
      count === 1
        ? `A credential from ${source} was refused; \`sallyport audit --type CREDENTIALS_REFUSED\` shows which kind.`
        : `${count} more credentials from ${source} were refused.`,
    )
    this.record(event)
  }

  close(reason: string): Promise<void> {
    this.#closing ??= this.#shutDown(reason)
    return this.#closing
  }

  async #shutDown(reason: string): Promise<void> {
    this.fleet.want()
    await this.#starting
    this.governing.approving.close(`the gateway ended (${reason})`)
    this.sessions.endAll(`the gateway ended (${reason})`)
    this.methods.close()
    await this.governing.discovery.flush()
    await this.fleet.close()
    await this.governing.close()
    await this.#opened.shelves.close()
    this.failures.close()
    this.audit.close()
    this.record({ type: 'GATEWAY_STOPPED', reason })
    this.gatekeeper.close()
    this.tokens.close()
    await this.#opened.watchdog.close()
    await this.telemetry.close()
    await this.store.close()
  }

  #openFleet(): Fleet {
    return new Fleet({
      open: (config, listener) => openUpstream(config, listener, this.#context),
      isKnown: (server) => this.catalog.knows(server),
      now: this.#context.now,
      listener: {
        onCatalogue: (server, catalogue) => this.#discovered(server, catalogue),
        onEvent: (event) => this.#happened(event),
      },
    })
  }

  /** That our own tools are there is no news. */
  #happened(event: SallyportEvent): void {
    if ('server' in event && this.#own.has(event.server)) return
    this.governing.modes.escalation.heed(event)
    this.record(event)
  }

  #discovered(server: string, catalogue: ServerCatalogue): void {
    const before = this.catalog.catalogueOf(server)
    const now = this.catalog.put(server, catalogue)
    const config = this.#settings.servers.find(({ id }) => id === server)
    if (config) this.#shelf.save(config, now)
    this.#warnOfLeftOut(server, now)
    const event = discoveryOf(server, before, now)
    if (event) this.#happened(event)
    if (!this.#own.has(server)) this.governing.discovery.seen(server)
  }

  /** Once for each: a server lists its mistakes again whenever its lists are read. */
  #warnOfLeftOut(server: string, { leftOut }: ServerCatalogue): void {
    const known = this.#leftOut.get(server) ?? new Set()
    const texts = leftOut.map(
      ({ name, reason }) => `"${visibleText(name)}" of server ${server} is left out: ${reason}.`,
    )
    const news = texts.filter((text) => !known.has(text))
    this.#leftOut.set(server, new Set(texts))
    for (const text of news.slice(0, MAX_WARNINGS)) this.#parts.onWarning(text)
    const more = news.length - MAX_WARNINGS
    if (more > 0)
      this.#parts.onWarning(`${more} more of server ${server} are left out: see \`sallyport servers ${server}\`.`)
  }

  #order(): readonly string[] {
    return [...this.#own, ...this.#settings.servers.filter(({ enabled }) => enabled).map(({ id }) => id)]
  }
}
