import {
  BUILT_IN_SERVER,
  type CompiledSelectors,
  compileSelection,
  compileSteps,
  type Decision,
  type Era,
  type Finding,
  findPoison,
  type JsonObject,
  type Principal,
  printExactJson,
  type Selection,
  type Step,
  sanitizeEntry,
  stripReservedMeta,
  type ToolPolicy,
  type ToolRef,
  UNDECIDED,
} from '@sallyport/core'
import type { Catalog, CatalogSnapshot, Offer } from '../catalog/catalog.ts'
import type { ServerConfig } from '../config/config.ts'
import {
  type Audience,
  EVERYTHING,
  isQuarantined,
  type ShapingRules,
  shownTool,
  UNSHAPED,
} from '../isolation/isolation.ts'
import { isListed, type OwnLists, READ_RESULT } from '../upstream/upstream.ts'
import { isClosedMetaTool, isDockerInfo, runsDockerGateway } from './steps/meta-tools.ts'
import { findBrokenPin } from './steps/pin-state.ts'
import { type CompiledChoice, type ListingContext, ToolChoices, type ToolChoicesOptions } from './steps/select-step.ts'

export type ListMethod = 'tools/list' | 'prompts/list' | 'resources/list' | 'resources/templates/list'

const LISTS = {
  'tools/list': { key: 'tools', from: 'tools', capability: 'tools' },
  'prompts/list': { key: 'prompts', from: 'prompts', capability: 'prompts' },
  'resources/list': { key: 'resources', from: 'resources', capability: 'resources' },
  'resources/templates/list': { key: 'resourceTemplates', from: 'templates', capability: 'resources' },
} as const

/** What one kind of caller sees. It caches, for each offer, the same decision that a call starts from. */
interface View {
  /** What profiles and launches select. */
  readonly choices: readonly CompiledChoice[]
  /** By server: whether any of its tools is selected. */
  readonly hasTools: Map<string, boolean>
  /** Weak: an unlisted URI gets a new offer each time. */
  readonly decisions: WeakMap<Offer, Decision>
  readonly prepared: Map<string, PreparedList>
  /** How much of results these callers are shown. */
  readonly audience: Audience
  visible?: VisibleOffers
  /** Whether results of a selected tool may be stored for this caller. */
  canReadResults?: boolean
}

/** The offers that one kind of caller sees. */
export interface VisibleOffers {
  readonly tools: readonly Offer[]
  readonly prompts: readonly Offer[]
  /** Including templates. */
  readonly resources: readonly Offer[]
}

/** By server: what a client's own connection lists differently. */
export type OwnListsByServer = ReadonlyMap<string, OwnLists>

interface PreparedList {
  /** The serialized result without its beginning. */
  readonly items: Buffer
  /** The servers that can change this list. */
  readonly servers: readonly string[]
}

export interface ListingsOptions extends Pick<ToolChoicesOptions, 'catalog'> {
  readonly steps: readonly Step<ListingContext>[]
  readonly serverRulesOf: (server: string) => ServerRules
  readonly policyOf: (offer: Offer) => ToolPolicy
  /** Findings in the definition that nobody has accepted. If missing, there are none. */
  readonly openFindingsOf?: (offer: Offer) => readonly Finding[]
  /** All selector lists that apply to a caller. If missing, there are none. */
  readonly choicesFor?: ToolChoicesOptions['choicesFor']
  /** The definition with this digest; `undefined` if it was not stored. */
  readonly loadPinned: (pin: string) => JsonObject | undefined
  /** Which part of a tool's results is returned. If missing, all of it. */
  readonly shapingOf?: (offer: Offer) => ShapingRules
  /** How much of results a caller with this credential, or at this URL, is shown. If missing, all of them. */
  readonly audienceOf?: (principal: Principal) => Audience
  /** Wall-clock time, since the freshness of a server's lists is stored across restarts. */
  readonly now?: () => number
}

/** Tokens create new kinds of callers, and somebody may mint very many tokens. */
const MAX_VIEWS = 1_000
const MAX_INSTRUCTIONS = 4_000
/** Lists of conversations that differ from the shared ones; one that everybody asks for is prepared again. */
const MAX_OWN_PREPARED = 64

/** Lists depend only on the caller. Each is decided and serialized once, until something changes. */
export class Listings {
  readonly #catalog: Catalog
  readonly #runSteps: (listed: ListingContext, earlier: Decision) => Decision
  readonly #serverRulesOf: (server: string) => ServerRules
  readonly #policyOf: (offer: Offer) => ToolPolicy
  readonly #openFindingsOf: (offer: Offer) => readonly Finding[]
  readonly #loadPinned: (pin: string) => JsonObject | undefined
  readonly #shapingOf: (offer: Offer) => ShapingRules
  readonly #audienceOf: (principal: Principal) => Audience
  readonly #now: () => number
  readonly #choices: ToolChoices
  #snapshot: CatalogSnapshot | undefined
  #views = new Map<string, View>()
  #serverRules = new Map<string, ServerRules>()
  #epoch = 0

  constructor(options: ListingsOptions) {
    this.#catalog = options.catalog
    this.#runSteps = compileSteps(options.steps)
    this.#serverRulesOf = options.serverRulesOf
    this.#policyOf = options.policyOf
    this.#openFindingsOf = options.openFindingsOf ?? (() => [])
    this.#loadPinned = options.loadPinned
    this.#shapingOf = options.shapingOf ?? (() => UNSHAPED)
    this.#audienceOf = options.audienceOf ?? (() => EVERYTHING)
    this.#now = options.now ?? Date.now
    this.#choices = new ToolChoices({ catalog: options.catalog, choicesFor: options.choicesFor ?? (() => []) })
  }

  /** The rules changed: everything is decided again. */
  invalidate(): void {
    this.#epoch++
    this.#views = new Map()
    this.#serverRules = new Map()
  }

  /** A different epoch means that earlier decisions may no longer be valid. */
  get epoch(): number {
    this.#refresh()
    return this.#epoch
  }

  /** Decisions depend on what servers offer, so a new catalog snapshot invalidates them. */
  #refresh(): void {
    const { snapshot } = this.#catalog
    if (snapshot === this.#snapshot) return
    this.#snapshot = snapshot
    this.invalidate()
  }

  decisionFor(offer: Offer, principal: Principal): Decision {
    return this.#decide(this.#view(principal), offer)
  }

  toolOf(ref: ToolRef): Offer | undefined {
    return this.#catalog.snapshot.findTool(ref)
  }

  runsDockerGateway(server: string): boolean {
    return this.#serverRulesOf(server).isDockerGateway || isDockerInfo(this.#catalog.serverCatalog(server)?.serverInfo)
  }

  /** With `own`, what the caller sees in a conversation with connections of its own. */
  offers(method: ListMethod, principal: Principal, own?: OwnListsByServer): readonly Offer[] {
    const view = this.#view(principal)
    const { snapshot } = this.#catalog
    const { from, key } = LISTS[method]
    const visible = snapshot[from].filter((offer) => this.#isVisible(view, offer))
    if (own === undefined) return visible
    const isOwn = (offer: Offer): boolean => isListed(own.get(offer.server), key, offer)
    const revealed = snapshot.revealed[from].filter((offer) => isOwn(offer) && this.#isVisible(view, offer))
    const common = visible.filter(isOwn)
    return revealed.length === 0 ? common : snapshot.inListOrder([...common, ...revealed])
  }

  /** Also what only some of the caller's conversations see. */
  readonly visibleOffers = (principal: Principal): VisibleOffers => {
    const view = this.#view(principal)
    const find = (method: ListMethod): readonly Offer[] => {
      const revealed = this.#catalog.snapshot.revealed[LISTS[method].from]
      return [...this.offers(method, principal), ...revealed.filter((offer) => this.#isVisible(view, offer))]
    }
    view.visible ??= {
      tools: find('tools/list'),
      prompts: find('prompts/list'),
      resources: [...find('resources/list'), ...find('resources/templates/list')],
    }
    return view.visible
  }

  /** What a selector list selects now. */
  selection(selectors: readonly string[] | undefined): CompiledSelectors {
    return this.#choices.compile(selectors)
  }

  /** The servers of which this caller sees at ttlMs one offer. */
  servers(principal: Principal): ReadonlySet<string> {
    const methods = Object.keys(LISTS) as ListMethod[]
    return new Set(methods.flatMap((method) => this.offers(method, principal).map((offer) => offer.server)))
  }

  /** Whether this caller may use a server, also one that lists no tools yet. */
  includesServer(principal: Principal, server: string): boolean {
    return this.#hasTools(this.#view(principal), server, this.#rulesForServer(server))
  }

  /** The instructions of the servers that this caller sees, each under the server's name. */
  instructions(principal: Principal): string | undefined {
    const view = this.#view(principal)
    const servers = this.servers(principal)
    const parts = this.#catalog.snapshot.instructions.flatMap((offer) => {
      const text = servers.has(offer.server) && this.#isVisible(view, offer) ? this.#instructionsOf(offer) : ''
      return text === '' ? [] : [`## ${offer.server}\n\n${text}`]
    })
    return parts.length === 0 ? undefined : parts.join('\n\n')
  }

  /** The reviewed instructions. No call could ask a person about them, so suspicious ones that nobody accepted are left out. */
  #instructionsOf(offer: Offer): string {
    const reviewed = this.#reviewedDefinition(offer)
    const hasOpenFindings = reviewed ? findPoison(reviewed).length > 0 : this.#openFindingsOf(offer).length > 0
    if (hasOpenFindings) return ''
    const { text } = reviewed ?? offer.original
    return typeof text === 'string' ? text.slice(0, MAX_INSTRUCTIONS) : ''
  }

  /** The complete `result` of a list, in pieces. */
  renderList(
    method: ListMethod,
    principal: Principal,
    { era, own }: { readonly era: Era; readonly own?: OwnListsByServer | undefined },
  ): readonly (string | Buffer)[] {
    const { items, servers } = this.#prepareList(method, principal, { era, own })
    if (era === 'legacy') return ['{', items]
    const ttlMs = computeListTtl(this.#catalog, servers, { list: LISTS[method].key, now: this.#now() })
    // Always private: lists are filtered by caller.
    return [`{"resultType":"complete","ttlMs":${ttlMs},"cacheScope":"private",`, items]
  }

  #prepareList(
    method: ListMethod,
    principal: Principal,
    { era, own }: { readonly era: Era; readonly own?: OwnListsByServer | undefined },
  ): PreparedList {
    const view = this.#view(principal)
    const name = own === undefined ? `${era} ${method}` : `${era} ${method}${formatOwnKey(own)}`
    const known = view.prepared.get(name)
    if (known) return known
    if (own !== undefined && view.prepared.size >= MAX_OWN_PREPARED) view.prepared.clear()
    const offers = this.offers(method, principal, own)
    const detail = { era, audience: view.audience }
    const texts = offers.map(
      (offer) => this.#findDefinitionText(offer) ?? printExactJson(this.#describe(offer, detail), offer.original),
    )
    const items = Buffer.from(`"${LISTS[method].key}":[${texts.join(',')}]}`)
    const prepared = { items, servers: serversAffectingList(this.#catalog, offers, LISTS[method]) }
    view.prepared.set(name, prepared)
    return prepared
  }

  #view(principal: Principal): View {
    this.#refresh()
    const name = findViewKey(principal)
    const known = this.#views.get(name)
    if (known) return known
    if (this.#views.size >= MAX_VIEWS) this.#views = new Map()
    const choices = this.#choices.of(principal)
    const audience = this.#audienceOf(principal)
    const view = { choices, audience, hasTools: new Map(), decisions: new WeakMap(), prepared: new Map() }
    this.#views.set(name, view)
    return view
  }

  #decide(view: View, offer: Offer): Decision {
    const known = view.decisions.get(offer)
    if (known) return known
    const policy = this.#policyOf(offer)
    // Whoever may call a tool may read its results: no selection separates the two (ISO-16).
    const choices = isResultReader(offer) && this.#canReadResults(view) ? NO_CHOICES : view.choices
    const rules = this.#rulesForServer(offer.server)
    const { selection, named, isDockerGateway, location } = rules
    const hasTools = this.#hasTools(view, offer.server, rules)
    const listed = {
      offer,
      policy,
      choices,
      hasTools,
      selection,
      named,
      isDockerGateway,
      location,
    }
    const decision = this.#runSteps(listed, UNDECIDED)
    view.decisions.set(offer, decision)
    return decision
  }

  /** A tool whose definition changed is listed with its reviewed definition, but it cannot be called. */
  #isVisible(view: View, offer: Offer): boolean {
    const decision = this.#decide(view, offer)
    return decision.outcome !== 'deny' || (isPinDenial(decision) && this.#reviewedDefinition(offer) !== undefined)
  }

  #reviewedDefinition(offer: Offer): JsonObject | undefined {
    const broken = findBrokenPin(offer, this.#policyOf(offer))
    return broken && this.#loadPinned(broken.value)
  }

  /** The JSON text of a tool's own definition, if the tool is shown exactly like that; otherwise `undefined`. */
  #findDefinitionText(offer: Offer): string | undefined {
    const { listedJson } = offer
    if (listedJson === undefined || this.#reviewedDefinition(offer) !== undefined) return undefined
    if (this.#policyOf(offer).descriptionOverride !== undefined || this.#shapingOf(offer).takesIntent) return undefined
    return listedJson
  }

  #describe(offer: Offer, { era, audience }: { readonly era: Era; readonly audience: Audience }): JsonObject {
    const reviewed = this.#reviewedDefinition(offer)
    if (offer.kind !== 'tool')
      return keepAllowedFields(offer.kind, reviewed ? withWireName(offer, reviewed) : offer.definition)
    const shown = reviewed ? { ...stripReservedMeta(reviewed), name: offer.wire } : definitionForEra(era, offer)
    const { descriptionOverride } = this.#policyOf(offer)
    const described = descriptionOverride ? { ...shown, description: descriptionOverride.value } : shown
    return shownTool(sanitizeEntry(`${era} tool`, described), this.#shapingOf(offer), audience)
  }

  /** The rules for all offers of one server, for every caller. */
  #rulesForServer(server: string): ServerRules {
    const known = this.#serverRules.get(server)
    if (known !== undefined) return known
    const rules = { ...this.#serverRulesOf(server), isDockerGateway: this.runsDockerGateway(server) }
    this.#serverRules.set(server, rules)
    return rules
  }

  /** Whether any tool of the server is selected. A server without tools can still be selected as a whole. */
  #hasTools(view: View, server: string, rules: ServerRules): boolean {
    const { choices, hasTools } = view
    const known = hasTools.get(server)
    if (known !== undefined) return known
    const tools = this.#catalog.snapshot.tools.filter((offer) => offer.server === server)
    const isAvailable = (offer: Offer): boolean =>
      isSelected(offer, rules, choices) || (isResultReader(offer) && this.#canReadResults(view))
    const isIncluded = tools.length === 0 ? choices.every((one) => one.includesServer(server)) : tools.some(isAvailable)
    hasTools.set(server, isIncluded)
    return isIncluded
  }

  #canReadResults(view: View): boolean {
    view.canReadResults ??= this.#catalog.snapshot.tools.some((offer) => {
      const { mayCut, plan } = this.#shapingOf(offer)
      if (!mayCut || isQuarantined(plan) || isResultReader(offer) || this.#policyOf(offer).hidden.value) return false
      return isSelected(offer, this.#rulesForServer(offer.server), view.choices)
    })
    return view.canReadResults
  }
}

const NO_CHOICES: readonly CompiledChoice[] = []

const formatOwnKey = (own: OwnListsByServer): string =>
  [...own].map(([server, { digest }]) => `\n${server} ${digest}`).join('')

/** Whether this is the tool with which callers read their stored results. */
export const isResultReader = ({ server, name }: Pick<Offer, 'server' | 'name'>): boolean =>
  server === BUILT_IN_SERVER && name === READ_RESULT

function isSelected({ server, name }: Offer, rules: ServerRules, choices: readonly CompiledChoice[]): boolean {
  if (!rules.selection(name) || isClosedMetaTool(name, rules)) return false
  return choices.every((one) => one.includes({ server, tool: name }))
}

function definitionForEra(era: Era, { definition, legacyOutput }: Offer): JsonObject {
  return era === 'modern' || legacyOutput === undefined ? definition : { ...definition, outputSchema: legacyOutput }
}

function keepAllowedFields(kind: Offer['kind'], definition: JsonObject): JsonObject {
  return kind === 'prompt' || kind === 'resource' || kind === 'template' ? sanitizeEntry(kind, definition) : definition
}

/** Prompts have a wire name; resources and templates keep their own. */
const withWireName = ({ kind, wire }: Offer, reviewed: JsonObject): JsonObject => {
  if (kind === 'prompt') return { ...reviewed, name: wire }
  if (kind === 'resource') return { ...reviewed, uri: wire }
  return kind === 'template' ? { ...reviewed, uriTemplate: wire } : reviewed
}

const isPinDenial = ({ decisive }: Decision): boolean => decisive?.step === 'pin'

/** A number for each selector list: a valid token always has the same list object. */
const numbers = new WeakMap<readonly string[], number>()
let lastNumber = 0

/** Cached by caller, since each call needs it and a known caller is always the same object. */
const names = new WeakMap<Principal, string>()

/** The same key for all callers that see the same lists. */
function findViewKey(principal: Principal): string {
  const known = names.get(principal)
  if (known !== undefined) return known
  const name = formatViewKey(principal)
  names.set(principal, name)
  return name
}

/** Names of agents and profiles contain no line break: see isPrintableName. */
function formatViewKey({ agent, profile, madeFor, tools }: Principal): string {
  const plain = `${agent}\n${profile}`
  if (madeFor === undefined && tools === undefined) return plain
  return `${plain}\n${madeFor?.agent ?? ''}\n${madeFor?.profile ?? ''}\n${tools ? assignNumber(tools) : ''}`
}

function assignNumber(tools: readonly string[]): number {
  const known = numbers.get(tools)
  if (known !== undefined) return known
  numbers.set(tools, ++lastNumber)
  return lastNumber
}

type ListKey = 'tools' | 'resources' | 'resourceTemplates' | 'prompts'

/** One day, in milliseconds. Without this limit, a clock that was set back would give a longer time. */
const MAX_TTL_MS = 86_400_000

/**
 * The servers that can change a list with these offers: the servers of the offers, servers whose catalog is not known yet,
 * and servers that offer nothing so far. The gateway's own tools change only with a new version.
 */
function serversAffectingList(
  catalog: Catalog,
  offers: readonly Offer[],
  { key, capability }: { readonly key: ListKey; readonly capability: string },
): readonly string[] {
  const shown = new Set(offers.map(({ server }) => server))
  return catalog.servers.filter((server) => {
    if (server === BUILT_IN_SERVER) return false
    const own = catalog.serverCatalog(server)
    if (own === undefined || shown.has(server)) return true
    return own.capabilities[capability] !== undefined && own[key].length === 0
  })
}

/** For how many milliseconds a list of these servers is fresh: the shortest time that any of them reports. */
function computeListTtl(
  catalog: Catalog,
  servers: readonly string[],
  { list, now }: { readonly list: ListKey; readonly now: number },
): number {
  let ttlMs = servers.length === 0 ? 0 : MAX_TTL_MS
  for (const server of servers) {
    const until: unknown = catalog.serverCatalog(server)?.freshUntil?.[list]
    ttlMs = Math.min(ttlMs, typeof until === 'number' ? until - now : 0)
  }
  return Math.max(0, Math.floor(ttlMs))
}

/** What a server's entry selects of the server's tools. */
interface ServerRules {
  readonly selection: Selection
  /** The names and patterns in `includeTools`. */
  readonly named: ReadonlySet<string>
  /** Whether the server is a Docker MCP Gateway, which also offers tools to manage itself. */
  readonly isDockerGateway: boolean
  /** The source location of that entry; `undefined` for the gateway's own tools. */
  readonly location: ServerConfig['location'] | undefined
}

const ALL_TOOLS: ServerRules = {
  selection: () => true,
  named: new Set(),
  isDockerGateway: false,
  location: undefined,
}

/** Compiles the entries of a configuration once, while it is in force. */
export function compileServerRules(entries: () => readonly ServerConfig[]): (server: string) => ServerRules {
  let compiledFrom: readonly ServerConfig[] | undefined
  let rules = new Map<string, ServerRules>()
  return (server) => {
    const now = entries()
    if (now !== compiledFrom) rules = new Map(now.map((entry) => [entry.id, toServerRules(entry)]))
    compiledFrom = now
    return rules.get(server) ?? ALL_TOOLS
  }
}

function toServerRules(config: ServerConfig): ServerRules {
  const { includeTools, excludeTools, location } = config
  const selection = compileSelection(includeTools, excludeTools)
  return { selection, named: new Set(includeTools), isDockerGateway: runsDockerGateway(config), location }
}
