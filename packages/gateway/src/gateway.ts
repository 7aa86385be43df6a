import { createHash, randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { BUILT_IN_SERVER, type JsonObject, type SallyportEvent } from '@sallyport/core'
import type { McpServer } from '@sallyport/kit'
import { Catalog, CatalogueShelf, discoveryOf } from './catalog/catalog.ts'
import { describeIssue, type Environment, type Home, type LoadedSettings, type Settings } from './config/config.ts'
import { CallGauge, LISTING_STEPS, Listings, Pipeline, serverRules } from './pipeline/pipeline.ts'
import { ChangeHub, createIds, HttpMcp, LegacySessions, Methods } from './serve/serve.ts'
import {
  type Authenticator,
  createAuthenticator,
  createJwtVerifier,
  createLogins,
  type JwtVerifier,
  type LocalTokens,
  type Logins,
  openLocalTokens,
} from './sessions/sessions.ts'
import type { Store } from './store/store.ts'
import {
  builtInConfig,
  createBuiltInServer,
  createMark,
  Fleet,
  InProcessTransport,
  openOver,
  openUpstream,
  openWatchdog,
  type ServerCatalogue,
  sweepProcesses,
  type UpstreamContext,
  type Watchdog,
} from './upstream/upstream.ts'
import { VERSION } from './version.ts'

export interface GatewayParts {
  readonly home: Home
  readonly state: string
  readonly loaded: LoadedSettings
  readonly environment: Environment
  readonly store: Store
  readonly onWarning: (text: string) => void
}

/** The gateway without its doors: everything between a request that was read and the servers behind. */
export class Gateway {
  readonly home: Home
  readonly state: string
  readonly store: Store
  readonly startedAt = Date.now()
  readonly catalog: Catalog
  readonly listings: Listings
  readonly pipeline: Pipeline
  readonly gauge: CallGauge
  readonly fleet: Fleet
  readonly hub = new ChangeHub()
  readonly ids = createIds()
  readonly methods: Methods
  readonly sessions: LegacySessions
  readonly httpMcp: HttpMcp
  readonly tokens: LocalTokens
  readonly logins: Logins
  readonly builtIns: McpServer
  readonly #parts: GatewayParts
  readonly #stateMark: string
  readonly #watchdog: Watchdog
  readonly #shelf: CatalogueShelf
  readonly #context: UpstreamContext
  readonly #own = new Set<string>()
  readonly #jwt: JwtVerifier | undefined
  #settings: Settings
  #starting: Promise<void> | undefined
  #closing: Promise<void> | undefined

  constructor(parts: GatewayParts, tokens: LocalTokens) {
    this.#stateMark = createMark(createHash('sha256').update(parts.state).digest('hex').slice(0, 16))
    const runMark = `${this.#stateMark}.${createMark(randomBytes(8).toString('hex'))}`
    this.#parts = parts
    this.#settings = parts.loaded.settings
    this.home = parts.home
    this.state = parts.state
    this.store = parts.store
    this.tokens = tokens
    this.#shelf = new CatalogueShelf(parts.store.catalogues)
    this.#watchdog = openWatchdog({ runMark, environment: parts.environment, onTrouble: parts.onWarning })
    this.catalog = new Catalog(this.#order(), this.#settings.gateway.naming)
    this.gauge = new CallGauge(this.#settings.gateway.maxCallsInFlight)
    this.listings = new Listings({
      catalog: this.catalog,
      steps: LISTING_STEPS,
      rulesOf: serverRules(() => this.#settings.servers),
    })
    this.#context = {
      clientInfo: { name: 'sallyport', title: 'Sallyport', version: VERSION },
      environment: parts.environment,
      watchdog: this.#watchdog,
      runMark,
      knownEra: (server) => this.#shelf.eraOf(server),
      now: () => Date.now(),
      random: () => Math.random(),
    }
    this.fleet = this.#openFleet()
    this.pipeline = new Pipeline({
      listings: this.listings,
      gauge: this.gauge,
      log: this.store.log,
      audit: () => this.#settings.audit,
      upstream: (server) => this.fleet.get(server),
      onBug: ({ message, cause }) =>
        parts.onWarning(`${message} ${cause instanceof Error ? cause.stack : String(cause)}`),
    })
    const untilKnown = (): Promise<void> | undefined => this.fleet.untilKnown(this.#settings.gateway.startupWait)
    this.methods = new Methods({
      catalog: this.catalog,
      listings: this.listings,
      pipeline: this.pipeline,
      hub: this.hub,
      ids: this.ids,
      version: VERSION,
      untilKnown,
    })
    this.sessions = new LegacySessions({
      hub: this.hub,
      most: this.#settings.gateway.maxSessions,
      now: () => Date.now(),
    })
    this.httpMcp = new HttpMcp({
      methods: this.methods,
      sessions: this.sessions,
      maxBodyBytes: this.#settings.gateway.maxBodyBytes,
    })
    this.logins = createLogins()
    const { jwt } = this.#settings
    this.#jwt = jwt && createJwtVerifier(jwt)
    this.builtIns = createBuiltInServer({
      workspaceRoot: this.#workspaceRoot(),
      version: VERSION,
      onBug: (bug) => parts.onWarning(`a built-in tool broke: ${String(bug.error)}`),
    })
    this.catalog.onChange((change) => this.hub.listsChanged(change))
  }

  /** Who must show a credential: at a port for trying things, nobody. */
  authenticatorFor(whom: 'everybody' | 'nobody'): Authenticator {
    return createAuthenticator({ tokens: this.tokens, jwt: this.#jwt, noAuth: whom === 'nobody' })
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

  /** Puts the servers to work, in the background. */
  start(): void {
    this.#starting = this.#startServers()
  }

  async #startServers(): Promise<void> {
    // Whatever an earlier gateway of this state left behind, killed together with its watchdog.
    await sweepProcesses({ mark: this.#stateMark })
    if (this.#closing === undefined) this.fleet.arrange(this.#settings.servers, this.#own)
  }

  /** Serves tools that run in this process, under a server id of their own. */
  adopt(server: string, own: McpServer): void {
    const config = builtInConfig(server)
    this.#own.add(server)
    this.catalog.arrange(this.#order(), this.#settings.gateway.naming)
    const createTransport = (): InProcessTransport =>
      new InProcessTransport({ server: own, maxMessageBytes: config.maxMessageBytes })
    this.fleet.adopt(server, (listener) => openOver({ config, listener, createTransport }, this.#context))
  }

  /** Puts a changed configuration in force, unless we are closing. What it did not change goes on undisturbed. */
  reload({ settings, warnings }: LoadedSettings): void {
    if (this.#closing !== undefined) return
    for (const warning of warnings) this.#parts.onWarning(describeIssue(warning))
    this.#settings = settings
    const change = this.fleet.arrange(settings.servers, this.#own)
    this.listings.forget()
    this.catalog.arrange(this.#order(), settings.gateway.naming)
    this.record({ type: 'CONFIG_RELOADED', ...change })
  }

  /** A changed configuration is of no use: the last good one stays in force. */
  keepSettings(reason: string): void {
    this.#parts.onWarning(`The changed configuration is not used: ${reason}`)
    this.record({ type: 'CONFIG_REJECTED', message: reason })
  }

  /** What cannot be recorded here concerns no call; it is told, not lost silently. */
  record(event: SallyportEvent): void {
    try {
      this.store.log.append(event)
    } catch (error) {
      this.#parts.onWarning(
        `${event.type} could not be recorded: ${error instanceof Error ? error.message : String(error)}`,
      )
    }
  }

  close(reason: string): Promise<void> {
    this.#closing ??= this.#shutDown(reason)
    return this.#closing
  }

  async #shutDown(reason: string): Promise<void> {
    await this.#starting
    this.sessions.endAll(reason)
    await this.fleet.close()
    this.record({ type: 'GATEWAY_STOPPED', reason })
    this.tokens.close()
    await this.#watchdog.close()
    await this.store.close()
  }

  #openFleet(): Fleet {
    return new Fleet({
      open: (config, listener) => openUpstream(config, listener, this.#context),
      isKnown: (server) => this.catalog.knows(server),
      now: () => Date.now(),
      listener: {
        onCatalogue: (server, catalogue) => this.#discovered(server, catalogue),
        onEvent: (event) => this.#happened(event),
        onNotification: (_server, notification) => this.#notified(notification),
      },
    })
  }

  /** That our own tools are there is no news. */
  #happened(event: SallyportEvent): void {
    if (!('server' in event && this.#own.has(event.server))) this.record(event)
  }

  #discovered(server: string, catalogue: ServerCatalogue): void {
    const before = this.catalog.snapshot.catalogueOf(server)
    this.catalog.put(server, catalogue)
    const config = this.#settings.servers.find(({ id }) => id === server)
    if (config) this.#shelf.save(config, catalogue)
    const event = discoveryOf(server, before, catalogue)
    if (event) this.#happened(event)
  }

  #notified(notification: JsonObject): void {
    const params = notification.params as JsonObject | undefined
    if (notification.method === 'notifications/resources/updated' && typeof params?.uri === 'string')
      this.hub.resourceUpdated(params.uri)
  }

  #order(): readonly string[] {
    return [...this.#own, ...this.#settings.servers.filter(({ enabled }) => enabled).map(({ id }) => id)]
  }

  #workspaceRoot(): string {
    const root = join(this.state, 'workspaces', 'default')
    mkdirSync(root, { recursive: true, mode: 0o700 })
    return root
  }
}

/** Opens everything that has to be there before the first request, and nothing that can come after it. */
export async function openGateway(parts: GatewayParts): Promise<Gateway> {
  const tokens = await openLocalTokens({ state: parts.state, onTrouble: parts.onWarning })
  const gateway = new Gateway(parts, tokens)
  gateway.recall()
  return gateway
}
