import { join } from 'node:path'
import { BUILT_IN_SERVER, messageOf, type Principal, type SallyportEvent } from '@sallyport/core'
import type { McpServer } from '@sallyport/kit'
import { BodyBudget } from '@sallyport/kit/http-intake'
import { buildDiscoveryEvent, Catalog, LastKnownCatalogs } from '../catalog/catalog.ts'
import {
  describeIssue,
  type Environment,
  type Home,
  type LoadedSettings,
  type Profiles,
  type Settings,
} from '../config/config.ts'
import type { Approver } from '../governance/governance.ts'
import { type RemovedData, type SessionResults, withoutQuotedText } from '../isolation/isolation.ts'
import { CallGauge, type Listings, type Pipeline } from '../pipeline/pipeline.ts'
import type { Sandboxes } from '../sandbox/sandbox.ts'
import { ChangeHub, createIds, HttpMcp, type Ids, LegacySessions, Methods, type Readiness } from '../serve/serve.ts'
import {
  type CallerKeys,
  CredentialFailures,
  type CurrentAuthenticators,
  createLogins,
  type EndedSessions,
  type LocalTokens,
  type Logins,
  type PublishedKeys,
} from '../sessions/sessions.ts'
import type { Store } from '../store/store.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import {
  type AbsentServer,
  builtInConfig,
  type ConversationEvent,
  Fleet,
  InProcessTransport,
  openConnection,
  openUpstream,
  type ServerCatalog,
  type StartTime,
  sweepProcesses,
  type UpstreamContext,
  type Watchdog,
} from '../upstream/upstream.ts'
import { VERSION } from '../version.ts'
import { AuditHealth } from './audit-health.ts'
import { CatalogWarnings } from './catalog-warnings.ts'
import { CounterpartLists } from './counterpart-lists.ts'
import { createDecisionParts, type DecisionParts } from './decision-parts.ts'
import { GatewayGovernance } from './gateway-governance.ts'
import type { SessionData } from './session-data.ts'
import { differOnlyInProfiles, findFixedChanges, listChangedProfiles } from './settings-changes.ts'

/** The gateway without its entry points: everything between a parsed request and the servers. */
export class Gateway {
  readonly home: Home
  readonly state: string
  readonly store: Store
  readonly startedAt = Date.now()
  readonly catalog: Catalog
  readonly listings: Listings
  readonly pipeline: Pipeline
  readonly purges: DecisionParts['purges']
  readonly governance: GatewayGovernance
  readonly gauge: CallGauge
  readonly fleet: Fleet
  readonly hub = new ChangeHub()
  readonly ids = createIds()
  readonly methods: Methods
  readonly sessions: LegacySessions
  readonly httpMcp: HttpMcp
  readonly bodies: ServingParts['bodies']
  readonly tokens: LocalTokens
  readonly gatekeeper: CurrentAuthenticators
  readonly ended: EndedSessions
  readonly sessionResults: SessionResults
  readonly logins: Logins
  readonly audit: AuditHealth
  readonly failures = new CredentialFailures({ report: (event) => this.#reportRefusedCredentials(event) })
  readonly builtIns: McpServer
  readonly sandboxes: Sandboxes
  readonly telemetry: Telemetry
  readonly #parts: GatewayParts
  readonly #opened: OpenedParts
  readonly #catalogStore: LastKnownCatalogs
  readonly #context: UpstreamContext
  readonly #inProcess = new Set<string>()
  #settings: Settings
  /** Warnings about the configuration in force. */
  #warnings: readonly string[]
  readonly #catalogWarnings: CatalogWarnings
  readonly #counterparts: CounterpartLists
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
    this.ended = opened.sessionData.ended
    this.sessionResults = opened.sessionData.sessionResults
    this.builtIns = opened.builtIns
    this.sandboxes = opened.sandboxes
    this.telemetry = opened.telemetry
    this.logins = createLogins()
    this.#catalogStore = new LastKnownCatalogs(parts.store.catalogs)
    this.audit = new AuditHealth({
      log: parts.store.log,
      folder: join(parts.state, 'logs'),
      isRequired: () => this.#settings.audit.required,
      onWarning: parts.onWarning,
    })
    this.#catalogWarnings = new CatalogWarnings(parts.onWarning)
    this.#context = this.#createContext()
    this.catalog = new Catalog(this.#serverOrder(), this.#settings.gateway.naming)
    this.#counterparts = new CounterpartLists({
      catalog: this.catalog,
      find: (server) => this.fleet.get(server),
      list: (server, isolated) => this.#onCatalog(server, isolated),
      onWarning: parts.onWarning,
      record: (event) => this.record(event),
    })
    this.gauge = new CallGauge(() => this.#settings.gateway.maxCallsInFlight)
    this.governance = this.#createGovernance()
    this.fleet = this.#openFleet()
    const { listings, pipeline, purges } = this.#createDecisionParts()
    this.purges = purges
    this.listings = listings
    this.pipeline = pipeline
    const { methods, sessions, httpMcp, bodies } = this.#createServingParts()
    this.bodies = bodies
    this.methods = methods
    this.sessions = sessions
    this.httpMcp = httpMcp
    this.catalog.onChange((change) => this.hub.listsChanged(change))
  }

  readonly onConversation = (conversation: string, notice: ConversationEvent): void => {
    for (const upstream of this.fleet.all()) upstream.notifyConversation(conversation, notice)
    if (notice === 'over') this.governance.roots.forget(conversation)
  }

  /** Explains to a caller why a tool is missing whose server has not started. */
  readonly findAbsentServer = (tool: string): AbsentServer | undefined => {
    return this.#hideQuotedText(this.fleet.findAbsentServer(tool, this.#settings.gateway.naming))
  }

  /** The same for a name that people and programs type: it need not contain the server. */
  readonly findAbsentServerOfTyped = (tool: string): AbsentServer | undefined =>
    this.findAbsentServer(tool) ?? this.#hideQuotedText(this.fleet.findStartingServer())

  #hideQuotedText(absent: AbsentServer | undefined): AbsentServer | undefined {
    // The reason may quote the server, and nobody knows yet which of its tools are quarantined.
    if (absent === undefined || !this.governance.hasQuarantine) return absent
    return { ...absent, refusal: withoutQuotedText(absent.refusal) }
  }

  /** `locations`: only the source locations of rules changed. Clients still see the same lists. */
  #rulesChanged(what: 'lists' | 'locations'): void {
    this.listings.invalidate()
    if (what === 'lists') this.hub.listsChanged({ tools: true, resources: true, prompts: true })
  }

  #createContext(): UpstreamContext {
    return {
      clientInfo: { name: 'sallyport', title: 'Sallyport', version: VERSION },
      environment: this.#parts.environment,
      watchdog: this.#opened.watchdog,
      callerKeys: this.#opened.callerKeys,
      sandboxes: this.sandboxes,
      runMark: this.#opened.marks.run,
      lastKnown: (server) => this.#catalogStore.lastKnown(server),
      now: () => Date.now(),
      random: () => Math.random(),
    }
  }

  #createGovernance(): GatewayGovernance {
    const { catalog, store, home, state, telemetry } = this
    const { onWarning, onNotice = () => undefined, environment, loaded, discovery = 'writes', approver } = this.#parts
    return new GatewayGovernance({
      ...{ catalog, store, home, state, environment, onWarning, onNotice, discovery, approver },
      tools: loaded.tools,
      settings: () => this.#settings,
      onBug: (error, where) => void this.#reportBug(error, where),
      onEvent: (event) => telemetry.recordEvent(event),
      onChange: (what) => this.#rulesChanged(what),
      onLabelRaised: () => this.#narrowSessions(),
    })
  }

  /**
   * When this returns, every sandbox of the session is as narrow as its label says, except for processes that have to
   * end: whoever sends or releases anything of the session waits for these (`narrowing` of the pipeline).
   */
  #narrowSessions(): void {
    this.sandboxes.narrow()
    this.fleet.recheckSubscriptions()
  }

  #createDecisionParts(): DecisionParts {
    const { catalog, governance, gauge, fleet, store, telemetry, ids, tokens, ended, sessionResults, sandboxes } = this
    return createDecisionParts({
      ...{ catalog, governance, gauge, fleet, store, telemetry, ids, tokens, ended, sessionResults, sandboxes },
      callerKeys: this.#opened.callerKeys,
      settings: () => this.#settings,
      onWarning: this.#parts.onWarning,
      onBug: ({ message, cause }) => this.#parts.onWarning(`${message} ${stackOf(cause)}`),
    })
  }

  #createServingParts(): ServingParts {
    const { catalog, listings, pipeline, fleet, hub, ids, onConversation, findAbsentServer } = this
    return createServingParts({
      ...{ catalog, listings, pipeline, fleet, hub, ids, onConversation, findAbsentServer },
      settings: () => this.#settings,
      onBug: (error, where) => this.#reportBug(error, where),
    })
  }

  #reportBug(error: unknown, where: string): string {
    const incident = this.ids.callId()
    this.#parts.onWarning(`incident ${incident} in ${where}: ${stackOf(error)}`)
    return incident
  }

  /** The state in one word, for callers without a token. Only `ready` and `lockdown` mean that the gateway works. */
  get readiness(): Readiness {
    if (this.audit.isDown) return 'audit-unavailable'
    if (!this.isReady) return 'starting'
    return this.governance.rules.modeState().mode === 'LOCKDOWN' ? 'lockdown' : 'ready'
  }

  /** Every server has sent its catalog, or its time to start is over. */
  get isReady(): boolean {
    return this.fleet.waitUntilKnown(this.#settings.gateway.startupWait) === undefined
  }

  /** The public keys of caller tokens; `undefined` if no server gets such tokens. */
  readonly publishKeys = (): Promise<PublishedKeys> | undefined =>
    this.#settings.servers.some(({ enabled, identity }) => enabled && identity === 'forward')
      ? this.#opened.callerKeys.publishRecent()
      : undefined

  get settings(): Settings {
    return this.#settings
  }

  /** Offers the stored catalogs of the servers at once, before the servers have started. */
  restore(): void {
    this.record({ type: 'GATEWAY_STARTED', version: VERSION, pid: process.pid, home: this.home.path })
    const enabled = this.#settings.servers.filter((config) => config.enabled)
    for (const config of enabled) {
      const known = this.#catalogStore.load(config)
      if (known) this.catalog.put(config.id, known)
    }
    this.fleet.expect(enabled.map(({ id }) => id))
    this.addInProcessServer(BUILT_IN_SERVER, this.builtIns)
  }

  /** Starts the servers in the background, so that the entry points can report first that they are open. */
  start(when: StartTime = 'now'): void {
    for (const part of [this.governance, this.sessionResults, this.#opened.sessionData.workspaces]) part.start()
    this.#starting = this.fleet.waitForStart(this.isReady ? when : 'now').then(() => this.#startServers())
  }

  async #startServers(): Promise<void> {
    // What an earlier gateway of this state left that was killed together with its watchdog, or with the machine.
    await Promise.all([sweepProcesses({ mark: this.#opened.marks.state }), this.sandboxes.sweep()])
    if (this.#closing === undefined) this.fleet.applyConfig(this.#settings.servers, this.#inProcess)
  }

  /** Serves tools that run in this process, under a server id of their own. */
  addInProcessServer(server: string, own: McpServer): void {
    const config = builtInConfig(server)
    this.#inProcess.add(server)
    this.catalog.reconfigure(this.#serverOrder(), this.#settings.gateway.naming)
    const createTransport = () => new InProcessTransport({ server: own, maxMessageBytes: config.maxMessageBytes })
    this.fleet.add(server, (listener) => openConnection({ config, listener, createTransport }, this.#context))
  }

  /** Applies a changed configuration, unless the gateway is closing. What did not change keeps running. */
  reload({ settings, warnings }: LoadedSettings): void {
    if (this.#closing !== undefined) return
    const onlyProfiles = differOnlyInProfiles(this.#settings, settings)
    const texts = warnings.map(describeIssue)
    for (const text of texts) if (!onlyProfiles || !this.#warnings.includes(text)) this.#parts.onWarning(text)
    this.#warnings = texts
    if (onlyProfiles) return this.applyProfiles(settings.profiles)
    for (const key of findFixedChanges(this.#settings, settings))
      this.#parts.onWarning(`${key} has changed; that takes effect at the next start.`)
    this.gatekeeper.reload(settings.jwt)
    this.#recordProfileChanges(settings.profiles)
    this.#settings = settings
    this.store.retain(settings.audit.retention)
    const change = this.fleet.applyConfig(settings.servers, this.#inProcess)
    this.governance.reload()
    this.sandboxes.narrow()
    this.listings.invalidate()
    this.catalog.reconfigure(this.#serverOrder(), settings.gateway.naming)
    this.record({ type: 'CONFIG_RELOADED', ...change })
  }

  /** Applies changed profiles. Only clients whose lists change are notified. */
  applyProfiles(profiles: Profiles): void {
    if (this.#closing !== undefined) return
    this.#recordProfileChanges(profiles)
    this.hub.applyChange(this.listings.visibleOffers, () => {
      this.#settings = { ...this.#settings, profiles }
      this.listings.invalidate()
    })
  }

  #recordProfileChanges(profiles: Profiles): void {
    const changed = listChangedProfiles(this.#settings.profiles, profiles)
    if (changed.length > 0) this.record({ type: 'PROFILES_CHANGED', profiles: changed })
  }

  /** Reports that a changed configuration is invalid. The last good one stays in force. */
  rejectSettings(reason: string): void {
    this.#parts.onWarning(`The changed configuration is not used: ${reason}`)
    this.record({ type: 'CONFIG_REJECTED', message: reason })
  }

  /** Records an event that is not part of a call. If that fails, it warns instead of failing. */
  record(event: SallyportEvent): void {
    this.telemetry.recordEvent(event)
    try {
      this.store.log.append(event)
    } catch (error) {
      this.#parts.onWarning(`${event.type} could not be recorded: ${messageOf(error)}`)
    }
  }

  /** The retention of an ended session is over, or a purge was finished that was cut off. */
  recordRemovedData({ user, session }: Pick<Principal, 'user' | 'session'>, removed: RemovedData): void {
    if (removed.files > 0 || removed.key)
      this.record({ type: 'SESSION_DATA_REMOVED', user, session, ...removed, reason: 'retention' })
    this.purges.retry()
  }

  #reportRefusedCredentials(event: Extract<SallyportEvent, { type: 'CREDENTIALS_REFUSED' }>): void {
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
    this.fleet.requestStart()
    await this.#starting
    this.governance.approvalChannels.close(`the gateway ended (${reason})`)
    this.sessions.endAll(`the gateway ended (${reason})`)
    this.methods.close()
    await this.governance.discovery.flush()
    for (const part of [this.fleet, this.purges, this.governance]) await part.close()
    await Promise.all([this.sessionResults.close(), this.#opened.sessionData.workspaces.close()])
    for (const part of [this.failures, this.audit, this.gatekeeper, this.tokens]) part.close()
    this.record({ type: 'GATEWAY_STOPPED', reason })
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
        onCatalog: (server, serverCatalog) => {
          this.#onCatalog(server, serverCatalog)
          this.#counterparts.normalListed(server)
        },
        onListsAnnounced: (server, lists) =>
          this.hub.listsChanged(lists, (principal) => this.listings.includesServer(principal, server)),
        onEvent: (event) => this.#onServerEvent(event),
        onOwnLists: (change) => this.hub.ownListsChanged(change),
        onCounterpartCatalog: (server) => this.#counterparts.compare(server),
      },
    })
  }

  /** Events of in-process servers are not recorded: their tools are always there. */
  #onServerEvent(event: SallyportEvent): void {
    if ('server' in event && this.#inProcess.has(event.server)) return
    this.governance.modes.escalation.observe(event)
    if (event.type === 'UPSTREAM_CONNECTED') this.purges.retry()
    this.record(event)
    if (event.type === 'UPSTREAM_LOST' || event.type === 'UPSTREAM_NEEDS_LOGIN')
      this.#counterparts.compare(event.server)
  }

  #onCatalog(server: string, serverCatalog: ServerCatalog): void {
    const before = this.catalog.serverCatalog(server)
    const now = this.catalog.put(server, serverCatalog)
    const config = this.#settings.servers.find(({ id }) => id === server)
    if (config) this.#catalogStore.save(config, now)
    this.#catalogWarnings.check(server, now, config)
    const event = buildDiscoveryEvent(server, before, now)
    if (event) this.#onServerEvent(event)
    if (!this.#inProcess.has(server)) this.governance.discovery.enqueue(server)
  }

  #serverOrder(): readonly string[] {
    return [...this.#inProcess, ...this.#settings.servers.filter(({ enabled }) => enabled).map(({ id }) => id)]
  }
}

/** The stack of an error, for whoever fixes the bug. */
export const stackOf = (error: unknown): string =>
  error instanceof Error ? (error.stack ?? error.message) : String(error)

export interface GatewayParts {
  readonly home: Home
  readonly state: string
  readonly loaded: LoadedSettings
  readonly environment: Environment
  readonly store: Store
  /** Whether discovered tools get an entry in tools.yaml; `writes` by default. */
  readonly discovery?: 'writes' | 'reads' | undefined
  readonly onNotice?: ((text: string) => void) | undefined
  readonly onWarning: (text: string) => void
  /** Who answers approvals if the gateway has no entry points; `nobody` refuses at once. */
  readonly approver?: Approver | 'nobody' | undefined
}

/** Parts that have to be opened, which can fail, and that must be closed again. */
export interface OpenedParts {
  readonly tokens: LocalTokens
  readonly gatekeeper: CurrentAuthenticators
  readonly callerKeys: CallerKeys
  readonly sandboxes: Sandboxes
  readonly watchdog: Watchdog
  readonly builtIns: McpServer
  readonly sessionData: SessionData
  readonly telemetry: Telemetry
  readonly marks: { readonly state: string; readonly run: string }
}

interface ServingPartsOptions {
  readonly catalog: Catalog
  readonly listings: Listings
  readonly pipeline: Pipeline
  readonly fleet: Fleet
  readonly hub: ChangeHub
  readonly ids: Ids
  readonly settings: () => Settings
  readonly findAbsentServer: (tool: string) => AbsentServer | undefined
  readonly onBug: (error: unknown, where: string) => string
  readonly onConversation: (conversation: string, notice: ConversationEvent) => void
}

/** Bytes that the incomplete requests of one caller may use, unless a single request may be larger. */
const MIN_SHARE = 32 * 1_024 * 1_024

/** The parts that answer clients, for every entry point. */
interface ServingParts {
  readonly methods: Methods
  readonly sessions: LegacySessions
  readonly httpMcp: HttpMcp
  readonly bodies: BodyBudget
}

function createServingParts({ settings, fleet, onConversation, ...parts }: ServingPartsOptions): ServingParts {
  const { hub } = parts
  const maxSessions = (): number => settings().gateway.maxSessions
  const methods = new Methods({
    ...parts,
    version: VERSION,
    maxListeners: maxSessions,
    findStartingServer: () => fleet.findStartingServer(),
    waitForServers: () => fleet.waitUntilKnown(settings().gateway.startupWait),
    ownLists: {
      ofServer: (server, reader) => fleet.get(server)?.ownLists?.(reader),
      ofAll: (reader) => fleet.ownLists(reader),
      prepare: (reader) => fleet.prepareLists(reader, settings().gateway.startupWait),
    },
  })
  const now = (): number => performance.now()
  const onEnd = (conversation: string): void => onConversation(conversation, 'over')
  const sessions = new LegacySessions({ hub, maxSessions, now, onEnd })
  const maxBodyBytes = (): number => settings().gateway.maxBodyBytes
  const maxBytesPerOwner = (): number => Math.max(MIN_SHARE, maxBodyBytes())
  const bodies = new BodyBudget({ maxBytesPerOwner, maxTotalBytes: () => 4 * maxBytesPerOwner() })
  const { onBug } = parts
  const httpMcp = new HttpMcp({ methods, sessions, maxBodyBytes, bodies, onConversation, onBug })
  return { methods, sessions, bodies, httpMcp }
}
