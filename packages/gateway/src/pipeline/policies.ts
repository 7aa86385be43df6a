import {
  nameGlob,
  PERMISSIONS,
  type PolicyField,
  type PolicySources,
  resolvePolicy,
  stricterPolicy,
  type ToolEntry,
  type ToolPolicy,
  type ToolsFile,
  type WrittenFields,
} from '@sallyport/core'
import type { Catalog, Offer } from '../catalog/catalog.ts'
import type { GovernanceSettings } from '../config/config.ts'
import { type InferenceOptions, inferPolicy, type Neighbours, poisonIn } from '../governance/governance.ts'
import { EntryIndex } from './entry-index.ts'
import { methodNames } from './governed-offer.ts'
import { changesGateway, isDockerInfo } from './meta-tools.ts'

export interface PoliciesOptions {
  readonly catalog: Catalog
  /** tools.yaml as it is in force. */
  readonly file: () => ToolsFile
  readonly settings: () => GovernanceSettings
  readonly isTrusted: (server: string) => boolean
  /** Whether a server's entry starts a Docker MCP Gateway. */
  readonly isDockerGateway: (server: string) => boolean
  /** Why nothing is known of what people decided: then everything is closed. */
  readonly flaw: () => string | undefined
}

/** What governs each thing on offer, found and resolved once, until something changes. */
export class Policies {
  readonly #options: PoliciesOptions
  #policies = new WeakMap<Offer, ToolPolicy>()
  #ofMethods = new Map<string, ToolPolicy>()
  #index: EntryIndex | undefined
  #patterns: readonly Pattern[] | undefined

  constructor(options: PoliciesOptions) {
    this.#options = options
  }

  /** The rules changed. */
  forget(): void {
    this.#policies = new WeakMap()
    this.#ofMethods = new Map()
    this.#index = undefined
    this.#patterns = undefined
  }

  policyOf(offer: Offer): ToolPolicy {
    const known = this.#policies.get(offer)
    if (known) return known
    const policy = offer.kind === 'tool' ? this.#resolve(offer) : this.#policyOfMethod(offer)
    this.#policies.set(offer, policy)
    return policy
  }

  /** Every entry of tools.yaml that is about it, also by a pattern. */
  entriesOf(offer: Offer): readonly ToolEntry[] {
    return this.#entries.find([...this.namesOf(offer), ...this.#sharedNamesOf(offer)])
  }

  /** Those that are about nothing else. */
  ownEntriesOf(offer: Offer): readonly ToolEntry[] {
    return this.#entries.own(this.namesOf(offer))
  }

  isWritten(offer: Offer): boolean {
    return this.#entries.has(this.namesOf(offer))
  }

  findingsOf(offer: Offer): readonly string[] {
    return poisonIn(offer, this.#inferenceFor(offer)).map(({ kind, where, text }) => `${kind} in ${where}: ${text}`)
  }

  /** Every way in which people may write what it is called. */
  namesOf(offer: Offer): readonly string[] {
    const { kind } = offer
    return kind === 'tool' ? this.#entries.namesOf(offer) : methodNames({ ...offer, kind })
  }

  /** Of a URI that no server lists there is an offer for each moment. */
  #policyOfMethod(offer: Offer): ToolPolicy {
    const names = this.namesOf(offer).join(' ')
    const known = this.#ofMethods.get(names) ?? this.#resolve(offer)
    this.#ofMethods.set(names, known)
    return known
  }

  #resolve(offer: Offer): ToolPolicy {
    const { file, flaw } = this.#options
    const policy = this.#isNamedOnce(offer) ? this.#resolveBy(offer, [offer.recordName]) : this.#resolveByAll(offer)
    const reason = flaw()
    return reason === undefined ? policy : { ...policy, hidden: closed(reason, file().path) }
  }

  /** Whether no other name of it than the canonical one can have a rule: it is so for thousands that discovery wrote. */
  #isNamedOnce(offer: Offer): boolean {
    return this.#options.settings().patterns.length === 0 && this.#entries.isNamedOnce(offer)
  }

  #resolveByAll(offer: Offer): ToolPolicy {
    const names = this.namesOf(offer)
    const own = this.#resolveBy(offer, names)
    const shared = this.#sharedNamesOf(offer)
    return shared.length === 0 ? own : stricterPolicy(own, this.#resolveBy(offer, [...shared, ...names]))
  }

  #resolveBy(offer: Offer, names: readonly string[]): ToolPolicy {
    const { file, settings } = this.#options
    const { defaults, enforce } = settings()
    const { path } = file()
    const changesGateway = this.#changesGateway(offer)
    const sources: PolicySources = {
      entries: this.#entries.find(names).map((entry) => writtenIn(path, entry)),
      patterns: this.#matching(names),
      inferred: changesGateway ? CHANGING_GATEWAY : inferPolicy(offer, this.#inferenceFor(offer)),
      defaults,
      enforce,
    }
    const resolved = resolvePolicy(sources)
    return changesGateway && this.#isUnspoken(names) ? { ...resolved, requiresApproval: APPROVED_ALWAYS } : resolved
  }

  /**
   * Names that people have rules for and that are not its alone. A server may take the name of another's tool at any
   * time: that neither frees the other from its rules nor lends them to its own.
   */
  #sharedNamesOf(offer: Offer): readonly string[] {
    if (offer.kind !== 'tool') return NONE
    const shared = this.#entries.sharedNamesOf(offer)
    if (shared.length === 0) return NONE
    return this.#entries.find(shared).length + this.#matching(shared).length > 0 ? shared : NONE
  }

  #changesGateway({ kind, server, name }: Offer): boolean {
    if (kind !== 'tool' || !changesGateway(name)) return false
    const { catalog, isDockerGateway } = this.#options
    return isDockerGateway(server) || isDockerInfo(catalog.catalogueOf(server)?.serverInfo)
  }

  /** A pattern that spares approval was hardly meant for what adds servers: only an entry of its own does. */
  #isUnspoken(names: readonly string[]): boolean {
    return this.#entries.written(names).every(({ fields }) => fields.requiresApproval === undefined)
  }

  #inferenceFor({ server }: Offer): InferenceOptions {
    const { settings, isTrusted } = this.#options
    return { tokens: settings().riskTokens, trusted: isTrusted(server), neighbours: this.#neighboursOf }
  }

  readonly #neighboursOf = (server: string): Neighbours => this.#entries.neighboursOf(server)

  get #entries(): EntryIndex {
    const { catalog, file } = this.#options
    const { snapshot } = catalog
    if (this.#index?.snapshot !== snapshot) this.#index = new EntryIndex(file().entries, snapshot)
    return this.#index
  }

  #matching(names: readonly string[]): readonly WrittenFields[] {
    this.#patterns ??= this.#options.settings().patterns.map(({ tool, fields, place }) => ({
      matches: nameGlob(tool),
      written: { fields, ruleOf: () => place },
    }))
    if (this.#patterns.length === 0) return NONE
    return this.#patterns.filter(({ matches }) => names.some(matches)).map(({ written }) => written)
  }
}

/** What a Docker MCP Gateway's own tools say of themselves is not asked. */
const CHANGING_GATEWAY: PolicySources['inferred'] = {
  category: 'mcp',
  risk: { value: 'high', reason: 'it changes what the Docker MCP Gateway offers' },
  permission: { value: PERMISSIONS, reason: 'it changes what the Docker MCP Gateway offers' },
}

const APPROVED_ALWAYS: ToolPolicy['requiresApproval'] = {
  value: true,
  reason: 'it changes what the Docker MCP Gateway offers, and no entry of its own says that it needs none',
}

const NONE: readonly never[] = Object.freeze([])

interface Pattern {
  readonly matches: (name: string) => boolean
  readonly written: WrittenFields
}

const closed = (reason: string, file: string): ToolPolicy['hidden'] => ({
  value: true,
  reason: `Nothing can be called while tools.yaml has a mistake: ${reason}`,
  rule: { file, line: 0 },
})

function writtenIn(file: string, { fields, line, lines }: ToolEntry): WrittenFields {
  return { fields, ruleOf: (field: PolicyField) => ({ file, line: lines[field] ?? line }) }
}
