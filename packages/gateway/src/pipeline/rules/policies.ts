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
  /** tools.yaml as it is in force. */
  readonly file: () => ParsedToolsFile
  readonly settings: () => GovernanceSettings
  readonly isTrusted: (server: string) => boolean
  /** Whether a server's entry starts a Docker MCP Gateway. */
  readonly isDockerGateway: (server: string) => boolean
  /** Why nothing is known of what people decided: then everything is closed. */
  readonly fileProblem: () => string | undefined
  /** What is remembered of offers; absent: nothing is. */
  readonly known?: Pick<OfferRegistry, 'find' | 'isFull'>
}

/** What governs each thing on offer, found and resolved once, until something changes. */
export class Policies {
  readonly #options: PoliciesOptions
  #policies = new WeakMap<Offer, ToolPolicy>()
  #doubts = new WeakMap<Offer, Doubts>()
  #methodPolicies = new Map<string, ToolPolicy>()
  #index: EntryIndex | undefined
  #patterns: readonly Pattern[] | undefined

  constructor(options: PoliciesOptions) {
    this.#options = options
  }

  /** The rules changed. */
  invalidate(): void {
    this.#policies = new WeakMap()
    this.#doubts = new WeakMap()
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

  /** Every entry of tools.yaml that is about it, also by a pattern. */
  entriesOf(offer: Offer): readonly ToolEntry[] {
    return this.#entries.find([...this.namesOf(offer), ...this.#sharedNamesOf(offer)])
  }

  /** Those that are about nothing else. */
  ownEntriesOf(offer: Offer): readonly ToolEntry[] {
    return this.#entries.own(this.namesOf(offer))
  }

  hasOwnEntry(offer: Offer): boolean {
    return this.#entries.has(this.namesOf(offer))
  }

  /** What inspection found in it: in the definition itself, and for the servers that are there. */
  findingsOf(offer: Offer): readonly Finding[] {
    if (!isInspected(offer)) return NONE
    const item = offer.through ?? offer
    const own = resolveFindings(item, this.#recordOf(item))
    const other = this.neighbourFindingsOf(item)
    return other.length === 0 ? own : [...own, ...other]
  }

  /** The part of it that hangs on which other servers are there. */
  neighbourFindingsOf(offer: Offer): readonly Finding[] {
    return findNeighborMentions(offer, this.#entries.neighboursOf(offer.server))
  }

  /** What of that nobody has accepted. Each use asks a person until somebody does. */
  doubtsOf(offer: Offer): Doubts {
    const known = this.#doubts.get(offer)
    if (known !== undefined) return known
    const doubts = this.#findDoubts(offer)
    this.#doubts.set(offer, doubts)
    return doubts
  }

  /** What an entry of its own says about approval; undefined where it says nothing. */
  approvalInEntry(offer: Offer): boolean | undefined {
    const said = this.ownEntriesOf(offer).flatMap(({ fields }) => fields.requiresApproval ?? [])
    return said.length === 0 ? undefined : said.includes(true)
  }

  /** Whether its risk alone, had nothing been found in its definition, asks a person. */
  needsApprovalByRisk({ original }: Offer): boolean {
    const { riskTokens: tokens, defaults } = this.#options.settings()
    return defaults[inferRisk(original as ToolDefinition, { tokens, findings: NONE }).level].requiresApproval
  }

  #findDoubts(offer: Offer): Doubts {
    const findings = this.findingsOf(offer)
    const record = this.#recordOf(offer)
    const isBeyond = record === undefined && this.#isOverMemoryLimit(offer)
    if (findings.length === 0 && !isBeyond) return NO_DOUBTS
    // An entry that spares the question was written by somebody who knew what was found by then.
    const isSpared = offer.kind === 'tool' && this.approvalInEntry(offer) === false
    if (record === undefined && isSpared) return NO_DOUBTS
    const accepted = new Set(record?.accepted)
    const lasting = findings.filter(
      (finding) => !accepted.has(formatFinding(finding)) && !accepted.has(notedText(finding)),
    )
    const open = isSpared ? lasting : findings.filter((finding) => !accepted.has(formatFinding(finding)))
    const beyond = isBeyond ? [OVER_MEMORY_LIMIT] : NONE
    const isSchemaAccepted = findings.some(isAboutSchema) && !open.some(isAboutSchema)
    return { open: [...open, ...beyond], remaining: [...lasting, ...beyond], isSchemaAccepted }
  }

  /** Resources come and go by the thousand on honest servers; the rest does not. */
  #isOverMemoryLimit(offer: Offer): boolean {
    if (!isInspected(offer) || offer.kind === 'resource') return false
    return this.#options.known?.isFull(offer.server, offer.kind) === true
  }

  #recordOf(offer: Offer): OfferRecord | undefined {
    return this.#options.known?.find(offer.through ?? offer)
  }

  /** A tool without an entry, and all that is not a tool, is held to the definition that the state remembers. */
  #withPin(offer: Offer, policy: ToolPolicy): ToolPolicy {
    if (policy.pin.length > 0 || !isInspected(offer)) return policy
    if (offer.kind === 'tool' && this.hasOwnEntry(offer)) return policy
    const pin = this.#recordOf(offer)?.pin
    // Each its own object: what is compiled for calls hangs on it, and findings are about one offer.
    return { ...policy, pin: pin ? [{ value: pin, reason: 'kept in the state' }] : NONE }
  }

  /** Every way in which people may write what it is called. */
  namesOf(offer: Offer): readonly string[] {
    const { kind } = offer
    return kind === 'tool' ? this.#entries.namesOf(offer) : methodNames({ ...offer, kind })
  }

  /** Of a URI that no server lists there is an offer for each moment. */
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

  /** Whether no other name of it than the canonical one can have a rule: it is so for thousands that discovery wrote. */
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
   * Names that people have rules for and that are not its alone. A server may take the name of another's tool at any
   * time: that neither frees the other from its rules nor lends them to its own.
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

  /** A pattern that spares approval was hardly meant for what adds servers: only an entry of its own does. */
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
    this.#patterns ??= this.#options.settings().patterns.map(({ tool, fields, place }) => ({
      matches: compileNameGlob(tool),
      written: { fields, locateRule: () => place },
    }))
    if (this.#patterns.length === 0) return NONE
    return this.#patterns.filter(({ matches }) => names.some(matches)).map(({ written }) => written)
  }
}

export interface Doubts {
  readonly open: readonly Finding[]
  /** Those that would be left if its entry said that it needs no approval. */
  readonly remaining: readonly Finding[]
  /** Whether somebody accepted that its arguments cannot be checked. */
  readonly isSchemaAccepted: boolean
}

/** As a record keeps what was known when its entry was written or changed. */
export const notedText = (finding: Finding): string => `noted: ${formatFinding(finding)}`

const isAboutSchema = ({ kind }: Finding): boolean => kind === 'schema'

/** What servers offer to clients. Our own offers, and what servers ask, are no text of a stranger's for a model. */
const isInspected = ({ isMcp, kind, isUnlisted, through }: Offer): boolean =>
  isMcp && kind !== 'question' && (!isUnlisted || through !== undefined)

const OVER_MEMORY_LIMIT: Finding = {
  kind: 'share',
  where: 'the state',
  text: 'its server offers, or has offered, more than can be remembered of one',
}

/** What a Docker MCP Gateway's own tools say of themselves is not asked. */
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
const NO_DOUBTS: Doubts = Object.freeze({ open: NONE, remaining: NONE, isSchemaAccepted: false })

interface Pattern {
  readonly matches: (name: string) => boolean
  readonly written: SourcedFields
}

const hideAll = (reason: string, file: string): ToolPolicy['hidden'] => ({
  value: true,
  reason: `Nothing can be called while tools.yaml has a mistake: ${reason}`,
  rule: { file, line: 0 },
})

function toWrittenFields(file: string, { fields, line, lines }: ToolEntry): SourcedFields {
  return { fields, locateRule: (field: PolicyField) => ({ file, line: lines[field] ?? line }) }
}
