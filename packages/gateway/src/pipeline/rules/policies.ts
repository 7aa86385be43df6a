import {
  compileNameGlob,
  type Finding,
  formatFinding,
  inferRisk,
  mergePolicies,
  type ParsedToolsFile,
  PERMISSIONS,
  type PolicyField,
  type PolicySources,
  resolvePolicy,
  type SourcedFields,
  type ToolDefinition,
  type ToolEntry,
  type ToolPolicy,
} from '@sallyport/core'
import type { Catalog, Offer } from '../../catalog/catalog.ts'
import type { GovernanceSettings } from '../../config/config.ts'
import {
  findNeighborMentions,
  type InferenceOptions,
  inferPolicy,
  type OfferRegistry,
  resolveFindings,
} from '../../governance/governance.ts'
import type { OfferRecord } from '../../store/store.ts'
import { changesGateway, isDockerInfo } from '../steps/meta-tools.ts'
import { EntryIndex } from './entry-index.ts'
import { methodNames } from './governed-offer.ts'

export interface PoliciesOptions {
  readonly catalog: Catalog
  /** The tools.yaml that is in force. */
  readonly file: () => ParsedToolsFile
  readonly settings: () => GovernanceSettings
  readonly isTrusted: (server: string) => boolean
  /** Whether a server's entry starts a Docker MCP Gateway. */
  readonly isDockerGateway: (server: string) => boolean
  /** Why tools.yaml cannot be used; then no call is allowed. */
  readonly fileProblem: () => string | undefined
  /** The stored records of offers. If missing, there are none. */
  readonly known?: Pick<OfferRegistry, 'find' | 'isFull'>
}

/** The policy of each offer, resolved once until something changes. */
export class Policies {
  readonly #options: PoliciesOptions
  #policies = new WeakMap<Offer, ToolPolicy>()
  #openFindings = new WeakMap<Offer, OpenFindings>()
  #methodPolicies = new Map<string, ToolPolicy>()
  #index: EntryIndex | undefined
  #patterns: readonly Pattern[] | undefined

  constructor(options: PoliciesOptions) {
    this.#options = options
  }

  invalidate(): void {
    this.#policies = new WeakMap()
    this.#openFindings = new WeakMap()
    this.#methodPolicies = new Map()
    this.#index = undefined
    this.#patterns = undefined
  }

  policyOf(offer: Offer): ToolPolicy {
    const known = this.#policies.get(offer)
    if (known) return known
    const policy = this.#withPin(offer, offer.kind === 'tool' ? this.#resolve(offer) : this.#policyOfMethod(offer))
    this.#policies.set(offer, policy)
    return policy
  }

  /** Every entry of tools.yaml that matches it, also by a pattern. */
  entriesOf(offer: Offer): readonly ToolEntry[] {
    return this.#entries.find([...this.namesOf(offer), ...this.#sharedNamesOf(offer)])
  }

  /** The entries that match nothing else. */
  ownEntriesOf(offer: Offer): readonly ToolEntry[] {
    return this.#entries.own(this.namesOf(offer))
  }

  hasOwnEntry(offer: Offer): boolean {
    return this.#entries.has(this.namesOf(offer))
  }

  /** The findings of the inspection: in the definition itself, and in relation to the other servers. */
  findingsOf(offer: Offer): readonly Finding[] {
    if (!isInspected(offer)) return NONE
    const item = offer.through ?? offer
    const own = resolveFindings(item, this.#recordOf(item))
    const other = this.neighbourFindingsOf(item)
    return other.length === 0 ? own : [...own, ...other]
  }

  /** The findings that depend on which other servers there are. */
  neighbourFindingsOf(offer: Offer): readonly Finding[] {
    return findNeighborMentions(offer, this.#entries.neighboursOf(offer.server))
  }

  /** The findings that nobody has accepted. Until then each use needs approval. */
  openFindingsOf(offer: Offer): OpenFindings {
    const known = this.#openFindings.get(offer)
    if (known !== undefined) return known
    const openFindings = this.#findOpenFindings(offer)
    this.#openFindings.set(offer, openFindings)
    return openFindings
  }

  /** `requires_approval` in its own entries; `undefined` if it is missing. */
  approvalInEntry(offer: Offer): boolean | undefined {
    const values = this.ownEntriesOf(offer).flatMap(({ fields }) => fields.requiresApproval ?? [])
    return values.length === 0 ? undefined : values.includes(true)
  }

  /** Whether its risk alone, without any findings, requires approval. */
  needsApprovalByRisk({ original }: Offer): boolean {
    const { riskTokens: tokens, defaults } = this.#options.settings()
    return defaults[inferRisk(original as ToolDefinition, { tokens, findings: NONE }).level].requiresApproval
  }

  #findOpenFindings(offer: Offer): OpenFindings {
    const findings = this.findingsOf(offer)
    const record = this.#recordOf(offer)
    const isOverLimit = record === undefined && this.#isOverMemoryLimit(offer)
    if (findings.length === 0 && !isOverLimit) return NO_FINDINGS
    // Whoever wrote `requires_approval: false` knew the findings at that time.
    const isSpared = offer.kind === 'tool' && this.approvalInEntry(offer) === false
    if (record === undefined && isSpared) return NO_FINDINGS
    const accepted = new Set(record?.accepted)
    const remaining = findings.filter(
      (finding) => !accepted.has(formatFinding(finding)) && !accepted.has(notedText(finding)),
    )
    const open = isSpared ? remaining : findings.filter((finding) => !accepted.has(formatFinding(finding)))
    const overLimit = isOverLimit ? [OVER_MEMORY_LIMIT] : NONE
    const isSchemaAccepted = findings.some(isAboutSchema) && !open.some(isAboutSchema)
    return { list: [...open, ...overLimit], remaining: [...remaining, ...overLimit], isSchemaAccepted }
  }

  /** Not for resources: honest servers may add and remove thousands of them. */
  #isOverMemoryLimit(offer: Offer): boolean {
    if (!isInspected(offer) || offer.kind === 'resource') return false
    return this.#options.known?.isFull(offer.server, offer.kind) === true
  }

  #recordOf(offer: Offer): OfferRecord | undefined {
    return this.#options.known?.find(offer.through ?? offer)
  }

  /** For a tool without an entry, and for all other offers, the pin in the state applies. */
  #withPin(offer: Offer, policy: ToolPolicy): ToolPolicy {
    if (policy.pin.length > 0 || !isInspected(offer)) return policy
    if (offer.kind === 'tool' && this.hasOwnEntry(offer)) return policy
    const pin = this.#recordOf(offer)?.pin
    // A new object for each offer: compiled rules are cached by policy object, and findings belong to one offer.
    return { ...policy, pin: pin ? [{ value: pin, reason: 'stored in the state' }] : NONE }
  }

  /** Every name by which people may write it. */
  namesOf(offer: Offer): readonly string[] {
    const { kind } = offer
    return kind === 'tool' ? this.#entries.namesOf(offer) : methodNames({ ...offer, kind })
  }

  /** Cached by names: an unlisted URI gets a new offer each time. */
  #policyOfMethod(offer: Offer): ToolPolicy {
    const names = this.namesOf(offer).join(' ')
    const known = this.#methodPolicies.get(names) ?? this.#resolve(offer)
    this.#methodPolicies.set(names, known)
    return known
  }

  #resolve(offer: Offer): ToolPolicy {
    const { file, fileProblem } = this.#options
    const policy = this.#hasOnlyCanonicalName(offer)
      ? this.#resolveByNames(offer, [offer.recordName])
      : this.#resolveByAllNames(offer)
    const reason = fileProblem()
    return reason === undefined ? policy : { ...policy, hidden: hideAll(reason, file().path) }
  }

  /** Whether only the canonical name can have a rule. This is true for thousands of tools that discovery wrote. */
  #hasOnlyCanonicalName(offer: Offer): boolean {
    return this.#options.settings().patterns.length === 0 && this.#entries.hasOnlyCanonicalName(offer)
  }

  #resolveByAllNames(offer: Offer): ToolPolicy {
    const names = this.namesOf(offer)
    const own = this.#resolveByNames(offer, names)
    const shared = this.#sharedNamesOf(offer)
    return shared.length === 0 ? own : mergePolicies(own, this.#resolveByNames(offer, [...shared, ...names]))
  }

  #resolveByNames(offer: Offer, names: readonly string[]): ToolPolicy {
    const { file, settings } = this.#options
    const { defaults, enforce } = settings()
    const { path } = file()
    const changesGateway = this.#changesGateway(offer)
    const sources: PolicySources = {
      entries: this.#entries.find(names).map((entry) => toWrittenFields(path, entry)),
      patterns: this.#matchingPatterns(names),
      inferred: changesGateway ? CHANGING_GATEWAY : inferPolicy(offer, this.#inferenceFor(offer)),
      defaults,
      enforce,
    }
    const resolved = resolvePolicy(sources)
    return changesGateway && this.#hasNoApprovalEntry(names) ? { ...resolved, requiresApproval: ALWAYS_ASK } : resolved
  }

  /**
   * Names with rules that several tools share. A server may give its tool the name of another server's tool at any time:
   * this must neither remove the rules of the other tool nor apply them to its own.
   */
  #sharedNamesOf(offer: Offer): readonly string[] {
    if (offer.kind !== 'tool') return NONE
    const shared = this.#entries.sharedNamesOf(offer)
    if (shared.length === 0) return NONE
    return this.#entries.find(shared).length + this.#matchingPatterns(shared).length > 0 ? shared : NONE
  }

  #changesGateway({ kind, server, name }: Offer): boolean {
    if (kind !== 'tool' || !changesGateway(name)) return false
    const { catalog, isDockerGateway } = this.#options
    return isDockerGateway(server) || isDockerInfo(catalog.serverCatalog(server)?.serverInfo)
  }

  /** A pattern without approval is hardly meant for tools that add servers: only an own entry can remove their approval. */
  #hasNoApprovalEntry(names: readonly string[]): boolean {
    return this.#entries.withExactKey(names).every(({ fields }) => fields.requiresApproval === undefined)
  }

  #inferenceFor(offer: Offer): InferenceOptions {
    const { settings, isTrusted } = this.#options
    const findings = (): readonly Finding[] => this.findingsOf(offer)
    return { tokens: settings().riskTokens, trusted: isTrusted(offer.server), findings }
  }

  get #entries(): EntryIndex {
    const { catalog, file } = this.#options
    const { snapshot } = catalog
    if (this.#index?.snapshot !== snapshot) this.#index = new EntryIndex(file().entries, snapshot)
    return this.#index
  }

  #matchingPatterns(names: readonly string[]): readonly SourcedFields[] {
    this.#patterns ??= this.#options.settings().patterns.map(({ tool, fields, location }) => ({
      matches: compileNameGlob(tool),
      written: { fields, locateRule: () => location },
    }))
    if (this.#patterns.length === 0) return NONE
    return this.#patterns.filter(({ matches }) => names.some(matches)).map(({ written }) => written)
  }
}

export interface OpenFindings {
  readonly list: readonly Finding[]
  /** The findings that would remain if its entry said `requires_approval: false`. */
  readonly remaining: readonly Finding[]
  /** Whether somebody accepted that its arguments cannot be checked. */
  readonly isSchemaAccepted: boolean
}

/** The form in which a record stores findings that were known when the entry was written or changed. */
export const notedText = (finding: Finding): string => `noted: ${formatFinding(finding)}`

const isAboutSchema = ({ kind }: Finding): boolean => kind === 'schema'

/** Whether an offer is inspected. The gateway's own offers, and questions of servers, contain no foreign text for a model. */
const isInspected = ({ isMcp, kind, isUnlisted, through }: Offer): boolean =>
  isMcp && kind !== 'question' && (!isUnlisted || through !== undefined)

const OVER_MEMORY_LIMIT: Finding = {
  kind: 'share',
  where: 'the state',
  text: 'its server offers, or has offered, more than can be remembered of one',
}

/** For the management tools of a Docker MCP Gateway. Their own annotations are ignored. */
const CHANGING_GATEWAY: PolicySources['inferred'] = {
  category: 'mcp',
  risk: { value: 'high', reason: 'it changes what the Docker MCP Gateway offers' },
  permission: { value: PERMISSIONS, reason: 'it changes what the Docker MCP Gateway offers' },
}

const ALWAYS_ASK: ToolPolicy['requiresApproval'] = {
  value: true,
  reason: 'it changes what the Docker MCP Gateway offers, and no entry of its own says that it needs none',
}

const NONE: readonly never[] = Object.freeze([])
const NO_FINDINGS: OpenFindings = Object.freeze({ list: NONE, remaining: NONE, isSchemaAccepted: false })

interface Pattern {
  readonly matches: (name: string) => boolean
  readonly written: SourcedFields
}

const hideAll = (reason: string, file: string): ToolPolicy['hidden'] => ({
  value: true,
  reason: `No tool can be called while tools.yaml has an error: ${reason}`,
  rule: { file, line: 0 },
})

function toWrittenFields(file: string, { fields, line, lines }: ToolEntry): SourcedFields {
  return { fields, locateRule: (field: PolicyField) => ({ file, line: lines[field] ?? line }) }
}
