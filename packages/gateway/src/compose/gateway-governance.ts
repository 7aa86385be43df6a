import { join } from 'node:path'
import {
  isJsonObject,
  type Json,
  type JsonObject,
  type SallyportEvent,
  toRecordedArguments,
  type Verdict,
} from '@sallyport/core'
import type { Catalog, Offer } from '../catalog/catalog.ts'
import {
  type Home,
  type HomeContent,
  readHome,
  renewTrust,
  requireTrust,
  type ServerConfig,
  type Settings,
  withFile,
} from '../config/config.ts'
import {
  type Approvals,
  type Approver,
  type ArgumentCheck,
  createServerPathContext,
  EntryQuota,
  type ModeWatch,
  OfferRegistry,
  openArgumentCheck,
  openModeWatch,
  SessionLabels,
  ToolsEditor,
  type ToolsFileChange,
} from '../governance/governance.ts'
import { findPresetProblem, resolveShapingRules } from '../isolation/isolation.ts'
import { SCHEMA_THREAD_FILE } from '../package-root.ts'
import {
  ActiveRules,
  ClientRoots,
  collectRenames,
  findUnknownIsolatedTools,
  findUnmatchedPatterns,
  OfferInspection,
  runsDockerGateway,
  ToolDiscovery,
  ToolLimits,
  ToolReview,
} from '../pipeline/pipeline.ts'
import type { Store } from '../store/store.ts'
import { ApprovalChannels } from './approval-channels.ts'

export interface GatewayGovernanceOptions {
  readonly catalog: Catalog
  readonly settings: () => Settings
  readonly store: Store
  readonly home: Home
  readonly state: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** tools.yaml as it was when the home was checked for trust; `undefined` if the home has no files of its own. */
  readonly tools: { readonly bytes: Buffer | undefined } | undefined
  /** Whether discovered tools get an entry in tools.yaml. */
  readonly discovery: 'writes' | 'reads'
  /** Information for people; not a problem. */
  readonly onNotice: (text: string) => void
  /** Who answers approvals if the gateway has no entry points. */
  readonly approver: Approver | 'nobody' | undefined
  readonly onWarning: (text: string) => void
  readonly onBug: (error: unknown, where: string) => void
  /** Called with each recorded event. */
  readonly onEvent: (event: SallyportEvent) => void
  /** The rules changed, so earlier decisions are no longer valid. `lists`: clients should reload their lists. */
  readonly onChange: (what: 'lists' | 'locations') => void
  /** The label of a session rose, so it may be private now. */
  readonly onLabelRaised: () => void
}

/** The decisions of people (tools.yaml, the mode, approvals), and the rules for each tool that result from them. */
export class GatewayGovernance {
  readonly modes: ModeWatch
  readonly tools: ToolsEditor
  readonly rules: ActiveRules
  readonly discovery: ToolDiscovery
  readonly review: ToolReview
  /** What the state remembers about each offer of a server. */
  readonly known: OfferRegistry
  readonly approvalChannels: ApprovalChannels
  readonly roots = new ClientRoots()
  readonly limits = new ToolLimits(() => performance.now())
  /** What each session has seen. */
  readonly labels: SessionLabels
  readonly #options: GatewayGovernanceOptions
  readonly #check: ArgumentCheck
  #renameRequests = '[]'
  #settling: Promise<void> | undefined

  constructor(options: GatewayGovernanceOptions) {
    this.#options = options
    const { state, store, settings, onWarning } = options
    this.modes = openModeWatch({ state, log: store.log, settings, onWarning: onWarning })
    this.labels = new SessionLabels({
      records: store.labels,
      record: (event) => this.recordSynced(event),
      onRaised: options.onLabelRaised,
      onWarning,
    })
    this.tools = this.#openTools()
    this.known = new OfferRegistry(
      options.discovery === 'writes' ? store.offers : { ...store.offers, save: () => true },
    )
    this.#check = openArgumentCheck({ threadFile: SCHEMA_THREAD_FILE })
    this.rules = this.#createRules()
    this.discovery = this.#createDiscovery()
    this.review = this.#createReview()
    this.#applyRenames()
    this.approvalChannels = this.#createApprovalChannels()
    this.modes.state.onChange(({ to }) => {
      // Whoever starts a lockdown does not know which approvals were part of the problem.
      if (to === 'LOCKDOWN') this.approvals.forget()
      this.#changed('lists')
    })
  }

  get environment(): GatewayGovernanceOptions['environment'] {
    return this.#options.environment
  }

  get approvals(): Approvals {
    return this.approvalChannels.approvals
  }

  /** Whether some tool may return only values that match a schema. */
  get hasQuarantine(): boolean {
    const { governance, isolation } = this.#options.settings()
    const rules = [...this.tools.file.entries, ...governance.patterns].map(({ fields }) => fields.isolated)
    return [isolation, ...rules].some((rule) => typeof rule === 'object' && rule.returns !== undefined)
  }

  readonly check = (schema: JsonObject, args: JsonObject): Verdict | Promise<Verdict> => this.#check.check(schema, args)

  /** Why a value does not match a schema, or why that cannot be checked; `undefined` if it matches. */
  readonly findValueProblem = (schema: JsonObject, value: Json): Promise<string | undefined> =>
    this.#check.findViolation(schema, value)

  /** The definition with this digest; `undefined` if it was not stored. */
  readonly loadPinned = (pin: string): JsonObject | undefined => {
    const text = this.#options.store.definitions.load(pin)
    const definition: unknown = text && JSON.parse(text)
    return isJsonObject(definition) ? definition : undefined
  }

  readonly argumentsToRecord = (args: Json): Json | undefined => {
    const { arguments: how } = this.#options.settings().audit
    return isJsonObject(args) ? toRecordedArguments(args, how) : undefined
  }

  /** Applies changed settings. */
  reload(): void {
    const { governance, servers } = this.#options.settings()
    this.modes.escalation.reload(governance.escalation)
    this.rules.invalidate()
    for (const { id, isolatedTools } of servers) if (isolatedTools.length > 0) this.discovery.enqueue(id)
  }

  /** Starts to watch files. In the background, it settles the approvals that an earlier gateway left pending. */
  start(): void {
    this.tools.watch()
    this.#settling = this.approvalChannels
      .expireLeftover()
      .catch((error) => this.#options.onBug(error, 'old approvals'))
  }

  async close(): Promise<void> {
    await this.#settling
    await this.tools.close()
    // A last change of the file may have started it again, and it writes to the store, which is closed next.
    await this.discovery.flush()
    await this.#check.close()
    await this.modes.state.close()
  }

  #openTools(): ToolsEditor {
    const { tools, home, state, onWarning } = this.#options
    return new ToolsEditor({
      path: tools && join(home.path, 'tools.yaml'),
      bytes: tools?.bytes,
      findTrustProblem: (bytes) => this.#findTrustProblem(bytes),
      onWritten: (change) => renewTrust({ home, state }, 'tools.yaml', change),
      onChange: (what) => this.#fileChanged(what),
      record: (event) => this.#record(event),
      onWarning,
    })
  }

  #createRules(): ActiveRules {
    const { catalog, settings, environment } = this.#options
    const serverOf = (id: string) => settings().servers.find((server) => server.id === id)
    return new ActiveRules({
      catalog,
      file: () => this.tools.file,
      fileProblem: () => this.tools.unusableReason,
      settings: () => settings().governance,
      mode: () => this.modes.state.current,
      isTrusted: (server) => serverOf(server)?.trusted ?? false,
      isDockerGateway: (server) => runsDockerGateway(serverOf(server)),
      worldOf: (server) => createServerPathContext(serverOf(server), environment),
      rootsOf: this.roots.rootsFor,
      sensitivityOf: (id) => {
        const { sensitivity, location } = serverOf(id) ?? {}
        return (
          sensitivity && { value: sensitivity, reason: 'the entry of the server', ...(location && { rule: location }) }
        )
      },
      shapingOf: (offer, policy) => resolveShapingRules(settings(), offer, policy),
      known: this.known,
    })
  }

  #createDiscovery(): ToolDiscovery {
    const { catalog, store, onBug, onWarning, discovery } = this.#options
    const { rules, known } = this
    const record = (event: SallyportEvent): void => this.#record(event)
    const findSchemaProblem = (schema: JsonObject) => this.#check.findSchemaProblem(schema)
    return new ToolDiscovery({
      ...{ catalog, rules, known, record },
      inspection: new OfferInspection({ rules, known, record, findSchemaProblem }),
      shares: new EntryQuota({ usageOf: (server) => this.tools.usageOf(server), now: () => Date.now() }),
      onRemembered: () => this.#changed('locations'),
      definitions: store.definitions,
      path: this.tools.file.path,
      append: (entries) => (discovery === 'writes' ? this.tools.append(entries) : Promise.resolve()),
      findServerProblem: (id, tools) => this.#findServerProblem(id, tools),
      findUnmatched: () => this.#findUnmatched(),
      onWarning,
      onWritten: (offers) => this.#reportWritten(offers),
      onBug: (error) => onBug(error, 'discovery'),
      now: () => new Date(),
    })
  }

  #findServerProblem(id: string, tools: readonly string[]): string | undefined {
    const server = this.#options.settings().servers.find((entry) => entry.id === id)
    return server && findUnknownIsolatedTools(server, tools)
  }

  #reportWritten(offers: readonly Offer[]): void {
    const high = offers.filter((offer) => this.rules.policyOf(offer).risk.value === 'high').length
    const tools = offers.length === 1 ? '1 new tool' : `${offers.length} new tools`
    this.#options.onNotice(`${tools} written to ${this.tools.file.path}${high === 0 ? '' : ` (${high} high risk)`}`)
  }

  #findUnmatched(): ReturnType<typeof findUnmatchedPatterns> {
    const { catalog, settings } = this.#options
    return findUnmatchedPatterns({ catalog, settings: settings(), file: this.tools.file, namesOf: this.rules.namesOf })
  }

  #createReview(): ToolReview {
    const { catalog, store, settings } = this.#options
    return new ToolReview({
      catalog,
      rules: this.rules,
      editor: this.tools,
      discovery: this.discovery,
      definitions: store.definitions,
      known: this.known,
      onRemembered: () => this.#changed('lists'),
      loadPinned: this.loadPinned,
      findServerProblem: (id, tools) => this.#findServerProblem(id, tools),
      heldBack: () => settings().servers.flatMap(heldBackReason),
      findUnmatched: () => this.#findUnmatched(),
      findPresetProblem: (wanted) => findPresetProblem(wanted, settings().context.presets),
      record: (event) => this.recordSynced(event),
      now: () => new Date(),
    })
  }

  #createApprovalChannels(): ApprovalChannels {
    const { tools, rules, argumentsToRecord } = this
    const record = (event: SallyportEvent): Promise<void> => this.recordSynced(event)
    return new ApprovalChannels({ ...this.#options, tools, rules, argumentsToRecord, record })
  }

  /** Why a changed file of a project home is not trusted. */
  async #findTrustProblem(bytes: Buffer): Promise<string | undefined> {
    const { home, state } = this.#options
    if (home.origin !== 'project') return undefined
    const content: HomeContent = withFile(await readHome(home.path), 'tools.yaml', bytes)
    return requireTrust({ home, state, content }).then(
      () => undefined,
      (error: Error) => error.message,
    )
  }

  #fileChanged(what: ToolsFileChange): void {
    this.#applyRenames()
    this.#changed(what === 'entries' ? 'locations' : 'lists')
    if (what === 'entries') return
    // Entries that could not be written before may be possible now, and newly accepted definitions have to be stored.
    for (const server of this.#options.catalog.servers) this.discovery.enqueue(server)
  }

  /** Names tools again only if the requested names changed. */
  #applyRenames(): void {
    const entries = this.tools.file.entries.filter(({ fields }) => fields.rename !== undefined)
    const requests = JSON.stringify(entries.map(({ key, fields }) => [key, fields.rename]))
    if (requests === this.#renameRequests) return
    this.#renameRequests = requests
    this.#options.catalog.setRenames((usual) => collectRenames(entries, usual))
  }

  #changed(what: 'lists' | 'locations'): void {
    this.rules.invalidate()
    this.#options.onChange(what)
  }

  #record(event: SallyportEvent): void {
    this.#options.store.log.append(event)
    this.#options.onEvent(event)
  }

  /** The event is on disk when this resolves: approvals take effect only after that. */
  async recordSynced(event: SallyportEvent): Promise<void> {
    const { log } = this.#options.store
    log.append(event)
    await log.sync()
    this.#options.onEvent(event)
  }
}

const heldBackReason = ({ id, location, heldBack }: ServerConfig): readonly string[] =>
  heldBack === undefined ? [] : [`${id} (${location.file}:${location.line}) is not started: ${heldBack}`]
