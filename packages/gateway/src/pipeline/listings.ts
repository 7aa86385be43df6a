import {
  compileSteps,
  type Decision,
  type Era,
  type JsonObject,
  type Principal,
  type Step,
  type ToolPolicy,
  type ToolRef,
  UNDECIDED,
} from '@sallyport/core'
import type { Catalog, CatalogSnapshot, Offer } from '../catalog/catalog.ts'
import { concernedServers, freshness } from './list-freshness.ts'
import { isClosed, isDockerInfo } from './meta-tools.ts'
import { brokenPin } from './pin-state.ts'
import type { Listed } from './select.ts'
import type { ServerRules } from './server-rules.ts'

export type ListMethod = 'tools/list' | 'prompts/list' | 'resources/list' | 'resources/templates/list'

const LISTS = {
  'tools/list': { key: 'tools', from: 'tools', capability: 'tools' },
  'prompts/list': { key: 'prompts', from: 'prompts', capability: 'prompts' },
  'resources/list': { key: 'resources', from: 'resources', capability: 'resources' },
  'resources/templates/list': { key: 'resourceTemplates', from: 'templates', capability: 'resources' },
} as const

/** What one kind of caller sees: the same decision that a call will meet, asked once for everything on offer. */
interface View {
  /** Weakly held: a URI that no server lists is an offer of the moment. */
  readonly decisions: WeakMap<Offer, Decision>
  readonly prepared: Map<string, PreparedList>
}

interface PreparedList {
  /** All of the result after its head. */
  readonly items: Buffer
  /** Whose lists it was made from. */
  readonly servers: readonly string[]
}

export interface ListingsOptions {
  readonly catalog: Catalog
  readonly steps: readonly Step<Listed>[]
  readonly rulesOf: (server: string) => ServerRules
  readonly policyOf: (offer: Offer) => ToolPolicy
  /** The definition that a pin is about, where it was kept. */
  readonly pinned: (pin: string) => JsonObject | undefined
  /** The clock on the wall: what a server says of its lists outlives us. */
  readonly now?: () => number
}

/** Kinds of caller come with tokens; somebody may mint very many. */
const MAX_VIEWS = 1_000

/** Lists vary by who asks and by nothing else; each is decided and printed once, until something changes. */
export class Listings {
  readonly #catalog: Catalog
  readonly #judge: (listed: Listed, earlier: Decision) => Decision
  readonly #rulesOf: (server: string) => ServerRules
  readonly #policyOf: (offer: Offer) => ToolPolicy
  readonly #pinned: (pin: string) => JsonObject | undefined
  readonly #now: () => number
  #snapshot: CatalogSnapshot | undefined
  #views = new Map<string, View>()
  #ofServers = new Map<string, ServerRules & Pick<Listed, 'leavesTools'>>()
  #epoch = 0

  constructor(options: ListingsOptions) {
    this.#catalog = options.catalog
    this.#judge = compileSteps(options.steps)
    this.#rulesOf = options.rulesOf
    this.#policyOf = options.policyOf
    this.#pinned = options.pinned
    this.#now = options.now ?? Date.now
  }

  /** The rules changed: everything is decided anew. */
  forget(): void {
    this.#epoch++
    this.#views = new Map()
    this.#ofServers = new Map()
  }

  /** Another one means that what was decided before may no longer hold. */
  get epoch(): number {
    return this.#epoch
  }

  decisionFor(offer: Offer, principal: Principal): Decision {
    return this.#decide(this.#view(principal), offer)
  }

  toolOf(ref: ToolRef): Offer | undefined {
    return this.#catalog.snapshot.toolOf(ref)
  }

  runsDockerGateway(server: string): boolean {
    return this.#rulesOf(server).isDockerGateway || isDockerInfo(this.#catalog.catalogueOf(server)?.serverInfo)
  }

  offers(method: ListMethod, principal: Principal): readonly Offer[] {
    const view = this.#view(principal)
    return this.#catalog.snapshot[LISTS[method].from].filter((offer) => this.#isSeen(view, offer))
  }

  /** The servers of which this caller sees anything. */
  servers(principal: Principal): ReadonlySet<string> {
    const methods = Object.keys(LISTS) as ListMethod[]
    return new Set(methods.flatMap((method) => this.offers(method, principal).map((offer) => offer.server)))
  }

  /** The whole `result` of a list, in pieces. */
  prepared(method: ListMethod, principal: Principal, era: Era): readonly (string | Buffer)[] {
    const { items, servers } = this.#print(method, principal, era)
    if (era === 'legacy') return ['{', items]
    const ttlMs = freshness(this.#catalog, servers, { list: LISTS[method].key, now: this.#now() })
    // Lists are filtered by who asks, always.
    return [`{"resultType":"complete","ttlMs":${ttlMs},"cacheScope":"private",`, items]
  }

  #print(method: ListMethod, principal: Principal, era: Era): PreparedList {
    const view = this.#view(principal)
    const name = `${era} ${method}`
    const known = view.prepared.get(name)
    if (known) return known
    const offers = this.offers(method, principal)
    const texts = offers.map((offer) => JSON.stringify(this.#shown(era, offer)))
    const items = Buffer.from(`"${LISTS[method].key}":[${texts.join(',')}]}`)
    const prepared = { items, servers: concernedServers(this.#catalog, offers, LISTS[method]) }
    view.prepared.set(name, prepared)
    return prepared
  }

  #view({ agent, profile }: Principal): View {
    const { snapshot } = this.#catalog
    if (snapshot !== this.#snapshot) this.forget()
    this.#snapshot = snapshot
    // Neither can hold a line break: see isClaimText.
    const name = `${agent}\n${profile}`
    const known = this.#views.get(name)
    if (known) return known
    if (this.#views.size >= MAX_VIEWS) this.#views = new Map()
    const view = { decisions: new WeakMap(), prepared: new Map() }
    this.#views.set(name, view)
    return view
  }

  #decide(view: View, offer: Offer): Decision {
    const known = view.decisions.get(offer)
    if (known) return known
    const policy = this.#policyOf(offer)
    const decision = this.#judge({ offer, policy, ...this.#governedBy(offer.server) }, UNDECIDED)
    view.decisions.set(offer, decision)
    return decision
  }

  /** A tool whose definition changed is seen as it was reviewed, though it cannot be called. */
  #isSeen(view: View, offer: Offer): boolean {
    const decision = this.#decide(view, offer)
    return decision.outcome !== 'deny' || (hasChanged(decision) && this.#reviewed(offer) !== undefined)
  }

  #reviewed(offer: Offer): JsonObject | undefined {
    const broken = brokenPin(offer, this.#policyOf(offer))
    return broken && this.#pinned(broken.value)
  }

  #shown(era: Era, offer: Offer): JsonObject {
    if (offer.kind !== 'tool') return offer.definition
    const reviewed = this.#reviewed(offer)
    const shown = reviewed ? { ...reviewed, name: offer.wire } : shownTo(era, offer)
    const { descriptionOverride } = this.#policyOf(offer)
    return descriptionOverride ? { ...shown, description: descriptionOverride.value } : shown
  }

  /** What counts for everything of one server. */
  #governedBy(server: string): ServerRules & Pick<Listed, 'leavesTools'> {
    const known = this.#ofServers.get(server)
    if (known !== undefined) return known
    const rules = { ...this.#rulesOf(server), isDockerGateway: this.runsDockerGateway(server) }
    const tools = this.#catalog.snapshot.tools.filter((offer) => offer.server === server)
    const leavesTools = tools.length === 0 || tools.some(({ name }) => rules.selection(name) && !isClosed(name, rules))
    const governed = { ...rules, leavesTools }
    this.#ofServers.set(server, governed)
    return governed
  }
}

function shownTo(era: Era, { definition, legacyOutput }: Offer): JsonObject {
  return era === 'modern' || legacyOutput === undefined ? definition : { ...definition, outputSchema: legacyOutput }
}

const hasChanged = ({ decisive }: Decision): boolean => decisive?.step === 'pin'
