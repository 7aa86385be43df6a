import { createHash } from 'node:crypto'
import {
  BUILT_IN_SERVER,
  canonicalName,
  type Era,
  isJsonObject,
  type JsonObject,
  type McpParam,
  NameTable,
  type Naming,
  quoteText,
  readMcpParams,
  stripReservedMeta,
  type ToolRef,
  toWireName,
  wrapOutputSchema,
} from '@sallyport/core'
import type { StoredDigests } from '../governance/governance.ts'
import type { ServerCatalog } from '../upstream/upstream.ts'
import { type StoredTools, storedToolsOf, toolNamesOf } from './catalog-format.ts'
import { declaredExtensions } from './extensions.ts'
import type { Offer } from './offer.ts'
import { isResourceAddress, parseResourceAddress, toResourceAddress } from './resource-address.ts'

export interface CatalogEntry {
  readonly server: string
  readonly catalog: ServerCatalog
}

/** New names that people chose for tools, by canonical name. `usual` has the names that the tools have without them. */
export type FindRenames = (usual: NameTable) => ReadonlyMap<string, string>

const NO_RENAMES: ReadonlyMap<string, string> = new Map()

const digest = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A longer URI has no owner, unless it is listed. */
const MAX_URI_LENGTH = 8_192

/** Everything that is offered at one moment, merged. Every name is looked up in a table. */
export class CatalogSnapshot {
  readonly tools: readonly Offer[]
  readonly prompts: readonly Offer[]
  readonly resources: readonly Offer[]
  readonly templates: readonly Offer[]
  /** The instructions of each server for the model. */
  readonly instructions: readonly Offer[]
  /** What only clients with such a connection of their own see. */
  readonly revealed: RevealedOffers
  readonly toolNames: NameTable
  /** Messages for people: what was left out, and what was decided between servers. */
  readonly warnings: readonly string[]
  readonly #entries: readonly CatalogEntry[]
  /** The position of each server in the lists. */
  readonly #ranks: ReadonlyMap<string, number>
  readonly #toolByWire: ReadonlyMap<string, Offer>
  readonly #promptByWire: ReadonlyMap<string, Offer>
  readonly #resourceByUri: ReadonlyMap<string, Offer>
  readonly #templateMatchers: readonly TemplateMatcher[]

  /** `entries` are in the order of the configuration: the first owner of a URI keeps it as it is. */
  constructor(entries: readonly CatalogEntry[], naming: Naming, renamesOf: FindRenames = () => NO_RENAMES) {
    const warnings: string[] = []
    this.#entries = entries
    const defaultNames = buildNameTable(entries, { key: 'tools', naming })
    const renames = renamesOf(defaultNames)
    this.toolNames = renames.size === 0 ? defaultNames : buildNameTable(entries, { key: 'tools', naming, renames })
    const promptNames = buildNameTable(entries, { key: 'prompts', naming })
    const toolPlan = { kind: 'tool', key: 'tools', names: this.toolNames, defaultNames } as const
    const promptPlan = { kind: 'prompt', key: 'prompts', names: promptNames, defaultNames: promptNames } as const
    // With bare names a client should see what it would see without the gateway, and ours after that.
    const listed = naming === 'bare' ? entries.toSorted((one, other) => rankOwn(one) - rankOwn(other)) : entries
    this.#ranks = new Map(listed.map(({ server }, at) => [server, at]))
    this.tools = namedOffers(listed, toolPlan)
    this.prompts = namedOffers(listed, promptPlan)
    warnings.push(...findFailedRenames(this.tools, renames))
    for (const table of [this.toolNames, promptNames]) {
      warnings.push(
        ...table.unnamed.map((ref) => `${ref.server}: "${ref.tool}" cannot be given a unique name and is left out`),
      )
    }
    this.resources = this.inListOrder(ownedOffers(entries, { ...RESOURCES, warnings }))
    const templates = ownedOffers(entries, { ...TEMPLATES, warnings })
    this.templates = this.inListOrder(templates)
    this.instructions = entries.flatMap(listInstructions)
    const differing = entries.flatMap(listRevealed)
    const owned = { resources: this.resources, templates: this.templates }
    this.revealed = differing.length === 0 ? NONE_REVEALED : findRevealed(differing, { toolPlan, promptPlan, owned })
    for (const { server, catalog } of entries) {
      warnings.push(...catalog.leftOut.map(({ name, reason }) => `${server}: "${name}" is left out: ${reason}`))
    }
    this.warnings = warnings
    this.#toolByWire = new Map(this.tools.map((offer) => [offer.wire, offer]))
    this.#promptByWire = new Map(this.prompts.map((offer) => [offer.wire, offer]))
    // Also those that keep their own URI: then an address stays valid when the order of the servers changes.
    this.#resourceByUri = new Map([
      ...this.resources.map((offer) => [toResourceAddress(offer.server, offer.name), offer] as const),
      ...this.resources.map((offer) => [offer.wire, offer] as const),
    ])
    this.#templateMatchers = templates.map((offer) => ({ matches: createTemplateMatcher(offer.name), offer }))
  }

  /** With the offers of each server together. */
  inListOrder(offers: readonly Offer[]): readonly Offer[] {
    const rank = ({ server }: Offer): number => this.#ranks.get(server) ?? 0
    return offers.toSorted((one, other) => rank(one) - rank(other))
  }

  tool(wire: string): Offer | undefined {
    return this.#toolByWire.get(wire)
  }

  /** Also one that only some clients see. */
  findTool(ref: ToolRef): Offer | undefined {
    const wire = this.toolNames.wireName(ref)
    if (wire === undefined) return undefined
    return this.#toolByWire.get(wire) ?? this.revealed.tools.find((offer) => offer.wire === wire)
  }

  /** For rules and reviews: also the tools that only some clients see. */
  get allTools(): readonly Offer[] {
    return this.revealed.tools.length === 0 ? this.tools : [...this.tools, ...this.revealed.tools]
  }

  prompt(wire: string): Offer | undefined {
    return this.#promptByWire.get(wire)
  }

  /**
   * The owner of a URI: the server that lists it, else the one whose template matches, else the only server with
   * resources. An address of ours names the server.
   */
  resource(uri: string): Offer | undefined {
    const listed = this.#resourceByUri.get(uri)
    if (listed) return listed
    if (uri.length > MAX_URI_LENGTH) return undefined
    if (isResourceAddress(uri)) return this.#addressedResource(uri)
    const template = this.#templateMatchers.find(({ matches }) => matches(uri))?.offer
    const server = template?.server ?? this.#onlyResourceServer()
    return server === undefined ? undefined : createUnlistedOffer({ server, uri, wire: uri, through: template })
  }

  /** Only the server that it names, and only by a template of that server. */
  #addressedResource(wire: string): Offer | undefined {
    const { server, uri } = parseResourceAddress(wire) ?? {}
    if (server === undefined || uri === undefined) return undefined
    const isMeant = ({ matches, offer }: TemplateMatcher): boolean => offer.server === server && matches(uri)
    const through = this.#templateMatchers.find(isMeant)?.offer
    return through && createUnlistedOffer({ server, uri, wire, through })
  }

  /** The owner of a URI among what only some clients see. `sees`: whether the client is one of them. */
  revealedResource(uri: string, sees: (offer: Offer) => boolean): Offer | undefined {
    const { resources, templates } = this.revealed
    const address = parseResourceAddress(uri)
    const own = address?.uri ?? uri
    const isOwner = ({ server }: Offer): boolean => address === undefined || server === address.server
    const isMeant = (offer: Offer): boolean => (address ? isOwner(offer) && offer.name === own : offer.wire === uri)
    const listed = resources.find((offer) => isMeant(offer) && sees(offer))
    if (listed || uri.length > MAX_URI_LENGTH) return listed
    const matches = (offer: Offer): boolean => isOwner(offer) && createTemplateMatcher(offer.name)(own)
    const through = templates.find((offer) => sees(offer) && matches(offer))
    return through && createUnlistedOffer({ server: through.server, uri: own, wire: uri, through })
  }

  /** By the template as it is listed, or by an address of ours. */
  template(uriTemplate: string, sees: (offer: Offer) => boolean = () => false): Offer | undefined {
    const isWanted = ({ server, name, wire }: Offer): boolean =>
      wire === uriTemplate || toResourceAddress(server, name) === uriTemplate
    return this.templates.find(isWanted) ?? this.revealed.templates.find((offer) => isWanted(offer) && sees(offer))
  }

  /**
   * Other capabilities that the servers declare to a client of this era. If two declare the same name, the first wins.
   */
  extensions(servers: ReadonlySet<string>, era: Era): JsonObject {
    const seen = this.#entries.filter(({ server }) => servers.has(server))
    return declaredExtensions(
      seen.map(({ catalog }) => catalog),
      era,
    )
  }

  #onlyResourceServer(): string | undefined {
    // The gateway's own URIs are those of its template, and no others.
    const owners = this.#entries.filter(
      ({ server, catalog }) => server !== BUILT_IN_SERVER && catalog.capabilities.resources !== undefined,
    )
    return owners.length === 1 ? owners[0]?.server : undefined
  }
}

const rankOwn = ({ server }: CatalogEntry): number => (server === BUILT_IN_SERVER ? 1 : 0)

interface TemplateMatcher {
  readonly matches: (uri: string) => boolean
  readonly offer: Offer
}

interface NameTableOptions {
  readonly key: 'tools' | 'prompts'
  readonly naming: Naming
  readonly renames?: ReadonlyMap<string, string>
}

function buildNameTable(entries: readonly CatalogEntry[], { key, ...naming }: NameTableOptions): NameTable {
  const refs = entries.flatMap(({ server, catalog }) => listNames(catalog, key).map((name) => ({ server, tool: name })))
  const revealed = entries
    .flatMap(listRevealed)
    .flatMap(({ server, catalog }) => listNames(catalog, key).map((name): ToolRef => ({ server, tool: name })))
  if (revealed.length === 0) return new NameTable(refs, { ...naming, digest })
  const tentative = new Set(revealed)
  return new NameTable([...revealed, ...refs], { ...naming, digest, isRevealed: (ref) => tentative.has(ref) })
}

/** The catalog of what only some connections of this server list. */
function listRevealed({ server, catalog }: CatalogEntry): readonly CatalogEntry[] {
  const { revealed } = catalog
  if (revealed === undefined) return []
  return [{ server, catalog: { ...catalog, ...(revealed as Pick<ServerCatalog, keyof typeof revealed>) } }]
}

/** The offers that only some clients see. */
export type RevealedOffers = Readonly<Record<'tools' | 'prompts' | 'resources' | 'templates', readonly Offer[]>>

const NONE_REVEALED: RevealedOffers = { tools: [], prompts: [], resources: [], templates: [] }

interface RevealedPlan {
  readonly toolPlan: NamedOffersOptions
  readonly promptPlan: NamedOffersOptions
  readonly owned: Pick<RevealedOffers, 'resources' | 'templates'>
}

function findRevealed(entries: readonly CatalogEntry[], { toolPlan, promptPlan, owned }: RevealedPlan): RevealedOffers {
  const mark = (offers: readonly Offer[]): readonly Offer[] => offers.map((offer) => ({ ...offer, isRevealed: true }))
  /** A URI that everybody sees keeps its owner. */
  const takenBy = (common: readonly Offer[]) => new Map(common.map((offer) => [offer.wire, offer]))
  const { resources, templates } = owned
  const plan = { warnings: [] }
  return {
    tools: mark(namedOffers(entries, toolPlan)),
    prompts: mark(namedOffers(entries, promptPlan)),
    resources: mark(ownedOffers(entries, { ...plan, ...RESOURCES, taken: takenBy(resources) })),
    templates: mark(ownedOffers(entries, { ...plan, ...TEMPLATES, taken: takenBy(templates) })),
  }
}

const listNames = (serverCatalog: ServerCatalog, key: NameTableOptions['key']): readonly string[] =>
  key === 'tools' ? toolNamesOf(serverCatalog) : serverCatalog.prompts.map(({ name }) => String(name))

/** Warnings about tools that could not get the name that people chose. */
function findFailedRenames(tools: readonly Offer[], renames: ReadonlyMap<string, string>): readonly string[] {
  return tools.flatMap(({ server, name, wire, recordName }) => {
    const newName = renames.get(recordName)
    if (newName === undefined || wire === toWireName(newName)) return []
    const why =
      toWireName(newName) === undefined
        ? 'it is not a valid name, or it is too long'
        : 'another tool has or wants that name'
    return [`${server}/${name} cannot be renamed to ${quoteText(newName, 60)}: ${why}. It is called ${wire}`]
  })
}

interface NamedOffersOptions {
  readonly kind: 'tool' | 'prompt'
  readonly key: 'tools' | 'prompts'
  readonly names: NameTable
  /** The names that the tools would have without any rename. */
  readonly defaultNames: NameTable
}

function namedOffers(entries: readonly CatalogEntry[], plan: NamedOffersOptions): readonly Offer[] {
  const { kind, key, names, defaultNames } = plan
  return entries.flatMap(({ server, catalog }) =>
    listNames(catalog, key).flatMap((name, at): readonly Offer[] => {
      const wire = names.wireName({ server, tool: name })
      if (wire === undefined) return []
      const recordName = kind === 'tool' ? canonicalName({ server, tool: name }) : name
      const named = { kind, server, name, wire, recordName, isMcp: server !== BUILT_IN_SERVER }
      const defaultWire = defaultNames === names ? wire : defaultNames.wireName({ server, tool: name })
      if (defaultWire !== undefined && defaultWire !== wire)
        return [{ ...createOffer(named, catalog, at), defaultWire }]
      return [createStoredOffer(named, catalog, at) ?? createOffer(named, catalog, at)]
    }),
  )
}

/** The owner and the names of an item. */
type NamedItem = Pick<Offer, 'server' | 'name' | 'wire' | 'recordName' | 'isMcp'> & Pick<NamedOffersOptions, 'kind'>

/** `undefined` if the stored tool must be parsed before it can be listed. */
function createStoredOffer(named: NamedItem, serverCatalog: ServerCatalog, at: number): Offer | undefined {
  const tools = named.kind === 'tool' ? storedToolsOf(serverCatalog) : undefined
  return tools?.isPrintable(at) ? new StoredOffer(named, tools, at) : undefined
}

function createOffer(named: NamedItem, serverCatalog: ServerCatalog, at: number): Offer {
  const isTool = named.kind === 'tool'
  const item: JsonObject =
    (isTool ? (storedToolsOf(serverCatalog)?.tool(at) ?? serverCatalog.tools[at]) : serverCatalog.prompts[at]) ?? {}
  return {
    ...named,
    original: item,
    definition: { ...(named.isMcp ? stripReservedMeta(item) : item), name: named.wire },
    ...(isTool && serverCatalog.era === 'modern' && narrowOutputSchema(item)),
  }
}

/**
 * Only for modern servers: a legacy server may break the rules of its era, and then its results and its schema stay as
 * they are.
 */
function narrowOutputSchema({ outputSchema }: JsonObject): Pick<Offer, 'legacyOutput'> {
  const legacyOutput = wrapOutputSchema(outputSchema)
  return legacyOutput === undefined ? {} : { legacyOutput }
}

interface OwnedOffersOptions {
  readonly kind: 'resource' | 'template'
  readonly key: 'resources' | 'resourceTemplates'
  readonly nameKey: 'uri' | 'uriTemplate'
  readonly warnings: string[]
  /** URIs that have an owner already. */
  readonly taken?: ReadonlyMap<string, Offer>
}

const RESOURCES = { kind: 'resource', key: 'resources', nameKey: 'uri' } as const
const TEMPLATES = { kind: 'template', key: 'resourceTemplates', nameKey: 'uriTemplate' } as const

/** The first server keeps a URI as it is. For the others, and for URIs in our own scheme, the address names the server. */
function ownedOffers(entries: readonly CatalogEntry[], plan: OwnedOffersOptions): readonly Offer[] {
  const { kind, key, nameKey, warnings, taken } = plan
  const owners = new Map<string, Offer>()
  for (const { server, catalog } of entries) {
    for (const item of catalog[key]) {
      const name = String(item[nameKey])
      const owner = taken?.get(name) ?? owners.get(name)
      const address = toResourceAddress(server, name)
      if (owner?.server === server || owners.has(address) || taken?.has(address)) {
        warnings.push(`${server}: ${name} is listed twice; one of them is left out`)
        continue
      }
      const wire = owner || isResourceAddress(name) ? address : name
      if (owner) {
        const why = `is already offered by ${owner.server}, which comes first in the configuration`
        warnings.push(`${server}: ${name} ${why}; it is listed as ${wire}`)
      } else if (wire !== name)
        warnings.push(`${server}: ${name} looks like an address of the gateway; it is listed as ${wire}`)
      const definition = stripReservedMeta(item)
      owners.set(wire, {
        ...{ kind, server, name, wire, recordName: name, original: item },
        definition: wire === name ? definition : { ...definition, [nameKey]: wire },
        isMcp: server !== BUILT_IN_SERVER,
      })
    }
  }
  return [...owners.values()]
}

interface UnlistedResource {
  readonly server: string
  readonly uri: string
  /** As the client names it. */
  readonly wire: string
  readonly through: Offer | undefined
}

function createUnlistedOffer({ server, uri, wire, through }: UnlistedResource): Offer {
  return {
    ...{ kind: 'resource', server, name: uri, wire, recordName: uri },
    original: { uri },
    definition: { uri: wire },
    isMcp: server !== BUILT_IN_SERVER,
    isUnlisted: true,
    ...(through && { through }),
  }
}

function listInstructions({ server, catalog: { instructions } }: CatalogEntry): readonly Offer[] {
  const text = instructions?.trim()
  if (!text) return []
  const name = 'instructions'
  const named = { kind: name, server, name, wire: name, recordName: name, isMcp: server !== BUILT_IN_SERVER } as const
  return [{ ...named, original: { text }, definition: { text } }]
}

/**
 * A template is untrusted text: its literal parts are searched for one by one, and it is never compiled to a regular
 * expression.
 */
function createTemplateMatcher(uriTemplate: string): (uri: string) => boolean {
  const [head = '', ...between] = uriTemplate.split(/\{[^{}]*\}/)
  const tail = between.pop()
  if (tail === undefined) return (uri) => uri === uriTemplate
  return (uri) => {
    if (!uri.startsWith(head) || !uri.endsWith(tail)) return false
    let at = head.length
    for (const text of between) {
      const found = uri.indexOf(text, at)
      if (found === -1) return false
      at = found + text.length
    }
    return at <= uri.length - tail.length
  }
}

/** A stored tool. Its definition is parsed on first use. */
class StoredOffer implements Offer {
  readonly kind = 'tool'
  readonly server: string
  readonly name: string
  readonly wire: string
  readonly recordName: string
  readonly isMcp: boolean
  readonly #tools: StoredTools
  readonly #at: number
  #definition: JsonObject | undefined

  constructor(what: Pick<Offer, 'server' | 'wire' | 'recordName' | 'isMcp'>, tools: StoredTools, at: number) {
    this.server = what.server
    this.name = tools.names[at] ?? ''
    this.wire = what.wire
    this.recordName = what.recordName
    this.isMcp = what.isMcp
    this.#tools = tools
    this.#at = at
  }

  get original(): JsonObject {
    return this.#tools.tool(this.#at)
  }

  get definition(): JsonObject {
    this.#definition ??= { ...this.original, name: this.wire }
    return this.#definition
  }

  get listedJson(): string | undefined {
    return this.#tools.printed(this.#at, this.wire)
  }

  get storedDigests(): StoredDigests | undefined {
    return this.#tools.digests(this.#at)
  }
}

const NONE: readonly McpParam[] = Object.freeze([])
const paramsCache = new WeakMap<JsonObject, readonly McpParam[]>()

/**
 * The arguments that HTTP repeats in headers in the modern era, if a tool has any. They are determined when the tool is
 * called: reading the schemas of thousands of tools would delay the first list.
 */
export function findHeaderParams({ kind, original }: Offer): readonly McpParam[] {
  if (kind !== 'tool') return NONE
  const params = paramsCache.get(original) ?? readParams(original)
  paramsCache.set(original, params)
  return params
}

/** A schema with invalid annotations is treated as one without any: no client may follow it. */
function readParams({ inputSchema }: JsonObject): readonly McpParam[] {
  const read = isJsonObject(inputSchema) ? readMcpParams(inputSchema) : { params: NONE }
  return 'problem' in read ? NONE : read.params
}
