import { randomBytes } from 'node:crypto'
import { homedir } from 'node:os'
import { join } from 'node:path'
import {
  isJsonObject,
  type Json,
  type JsonObject,
  keptArguments,
  type PathWorld,
  type SallyportEvent,
  type Verdict,
} from '@sallyport/core'
import type { Catalog, Offer } from './catalog/catalog.ts'
import {
  type Home,
  type HomeContent,
  readHome,
  renewTrust,
  requireTrust,
  type Settings,
  withFile,
} from './config/config.ts'
import {
  Approvals,
  type ArgumentCheck,
  createPathWorld,
  type ModeWatch,
  type NewEntry,
  openArgumentCheck,
  openModeWatch,
  type PendingApproval,
  REMOTE_PATH_WORLD,
  ToolsKeeper,
} from './governance/governance.ts'
import { SCHEMA_THREAD_FILE } from './package-root.ts'
import { RuleBook, renamesIn, ToolDiscovery, ToolLimits, ToolReview } from './pipeline/pipeline.ts'
import type { Store } from './store/store.ts'

export interface GoverningOptions {
  readonly catalog: Catalog
  readonly settings: () => Settings
  readonly store: Store
  readonly home: Home
  readonly state: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** tools.yaml as it was when the home was judged; nothing where the home has no files of its own. */
  readonly tools: { readonly bytes: Buffer | undefined } | undefined
  /** Whether tools that are found get an entry. */
  readonly discovery: 'writes' | 'looks'
  /** What people may want to know though nothing is wrong. */
  readonly onNotice: (text: string) => void
  readonly onWarning: (text: string) => void
  readonly onBug: (error: unknown, where: string) => void
  /** What was recorded. */
  readonly onEvent: (event: SallyportEvent) => void
  /** The rules changed: what was decided by them no longer holds. `lists`: clients should look again. */
  readonly onChange: (what: 'lists' | 'places') => void
}

/** What people decided, and what it makes of each tool. */
export class Governing {
  readonly modes: ModeWatch
  readonly tools: ToolsKeeper
  readonly rules: RuleBook
  readonly discovery: ToolDiscovery
  readonly review: ToolReview
  readonly approvals: Approvals
  readonly limits = new ToolLimits(() => performance.now())
  readonly #options: GoverningOptions
  readonly #check: ArgumentCheck
  #isAppending = false
  #wishes = '[]'

  constructor(options: GoverningOptions) {
    this.#options = options
    const { state, store, settings, onWarning } = options
    this.modes = openModeWatch({ state, log: store.log, settings, onTrouble: onWarning })
    this.tools = this.#openTools()
    this.rules = this.#createRules()
    this.discovery = this.#createDiscovery()
    this.review = this.#createReview()
    this.#rename()
    this.approvals = this.#createApprovals()
    this.#check = openArgumentCheck({ threadFile: SCHEMA_THREAD_FILE })
    this.modes.keeper.onChange(() => this.#changed('lists'))
  }

  readonly check = (schema: JsonObject, args: JsonObject): Verdict | Promise<Verdict> => this.#check.check(schema, args)

  /** The definition that a pin is about, where it was kept. */
  readonly pinned = (pin: string): JsonObject | undefined => {
    const text = this.#options.store.definitions.load(pin)
    const definition: unknown = text && JSON.parse(text)
    return isJsonObject(definition) ? definition : undefined
  }

  readonly kept = (args: Json): Json | undefined => {
    const { arguments: how } = this.#options.settings().audit
    return isJsonObject(args) ? keptArguments(args, how) : undefined
  }

  /** Other settings are in force. */
  reload(): void {
    this.modes.escalation.reload(this.#options.settings().governance.escalation)
    this.rules.forget()
  }

  async close(): Promise<void> {
    await this.tools.close()
    await this.#check.close()
    await this.modes.keeper.close()
  }

  #openTools(): ToolsKeeper {
    const { tools, home, state, onWarning } = this.#options
    return new ToolsKeeper({
      path: tools && join(home.path, 'tools.yaml'),
      bytes: tools?.bytes,
      distrust: (bytes) => this.#distrust(bytes),
      onWritten: (change) => renewTrust({ home, state }, 'tools.yaml', change),
      onChange: () => this.#fileChanged(),
      record: (event) => this.#record(event),
      onWarning,
    })
  }

  #createRules(): RuleBook {
    const { catalog, settings } = this.#options
    const serverOf = (id: string) => settings().servers.find((server) => server.id === id)
    return new RuleBook({
      catalog,
      file: () => this.tools.file,
      flaw: () => this.tools.flaw,
      settings: () => settings().governance,
      mode: () => this.modes.keeper.current,
      isTrusted: (server) => serverOf(server)?.trusted ?? false,
      worldOf: (server) => this.#worldOf(serverOf(server)),
    })
  }

  #createDiscovery(): ToolDiscovery {
    const { catalog, store, onBug, discovery } = this.#options
    return new ToolDiscovery({
      catalog,
      rules: this.rules,
      definitions: store.definitions,
      path: this.tools.file.path,
      append: (entries) => (discovery === 'writes' ? this.#append(entries) : Promise.resolve()),
      record: (event) => this.#record(event),
      onWritten: (offers) => this.#tellWritten(offers),
      onBug: (error) => onBug(error, 'discovery'),
      now: () => new Date(),
    })
  }

  async #append(entries: readonly NewEntry[]): Promise<void> {
    this.#isAppending = true
    try {
      await this.tools.append(entries)
    } finally {
      this.#isAppending = false
    }
  }

  #tellWritten(offers: readonly Offer[]): void {
    const high = offers.filter((offer) => this.rules.policyOf(offer).risk.value === 'high').length
    const tools = offers.length === 1 ? '1 new tool' : `${offers.length} new tools`
    this.#options.onNotice(`${tools} written to ${this.tools.file.path}${high === 0 ? '' : ` (${high} high risk)`}`)
  }

  #createReview(): ToolReview {
    const { catalog, store } = this.#options
    return new ToolReview({
      catalog,
      rules: this.rules,
      keeper: this.tools,
      discovery: this.discovery,
      definitions: store.definitions,
      pinned: this.pinned,
      record: (event) => this.#recordSynced(event),
      now: () => new Date(),
    })
  }

  #createApprovals(): Approvals {
    const { settings } = this.#options
    return new Approvals({
      record: (event) => this.#recordSynced(event),
      timeout: () => settings().governance.approvalTimeout,
      kept: this.kept,
      allowAlways: (approval, by) => this.#allowAlways(approval, by),
      newId: () => randomBytes(6).toString('hex'),
      now: () => Date.now(),
    })
  }

  #allowAlways({ tool }: PendingApproval, by: string): Promise<void> {
    const comment = `approved for good by ${by}, ${new Date().toISOString().slice(0, 10)}`
    return this.tools.set({ key: tool, field: 'requires_approval', value: false, comment })
  }

  /** Where the paths of a server's tools lead: a program of ours sees our disk, another machine its own. */
  #worldOf(server: Settings['servers'][number] | undefined): PathWorld {
    if (server === undefined || !('command' in server)) return REMOTE_PATH_WORLD
    const environment = { ...this.#options.environment, ...server.env }
    const userHome = environment.HOME ?? homedir()
    return createPathWorld({ environment, userHome, cwd: server.cwd ?? process.cwd(), platform: process.platform })
  }

  /** Why nobody vouches for a changed file in a home that came with a folder. */
  async #distrust(bytes: Buffer): Promise<string | undefined> {
    const { home, state } = this.#options
    if (home.origin !== 'project') return undefined
    const content: HomeContent = withFile(await readHome(home.path), 'tools.yaml', bytes)
    return requireTrust({ home, state, content }).then(
      () => undefined,
      (error: Error) => error.message,
    )
  }

  #fileChanged(): void {
    this.#rename()
    this.#changed(this.#isAppending ? 'places' : 'lists')
    // What could not be written before may be possible now.
    if (!this.#isAppending && this.tools.notWritten.length > 0)
      for (const server of this.#options.catalog.servers) this.discovery.seen(server)
  }

  /** Names are given anew only where somebody wants others than before. */
  #rename(): void {
    const entries = this.tools.file.entries.filter(({ fields }) => fields.rename !== undefined)
    const wishes = JSON.stringify(entries.map(({ key, fields }) => [key, fields.rename]))
    if (wishes === this.#wishes) return
    this.#wishes = wishes
    this.#options.catalog.renameBy((usual) => renamesIn(entries, usual))
  }

  #changed(what: 'lists' | 'places'): void {
    this.rules.forget()
    this.#options.onChange(what)
  }

  #record(event: SallyportEvent): void {
    this.#options.store.log.append(event)
    this.#options.onEvent(event)
  }

  /** Approvals are on disk before they count. */
  async #recordSynced(event: SallyportEvent): Promise<void> {
    const { log } = this.#options.store
    log.append(event)
    await log.sync()
    this.#options.onEvent(event)
  }
}
