import type {
  Finding,
  Mode,
  ModeRules,
  PathContext,
  PolicyValue,
  SensitivityRule,
  ToolEntry,
  ToolPolicy,
} from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import { type ShapingRules, UNSHAPED } from '../../isolation/isolation.ts'
import type { Call } from '../call.ts'
import { Policies, type PoliciesOptions } from './policies.ts'
import { findRuleProblems } from './rule-problems.ts'
import { compileToolRules, type ToolRules } from './tool-rules.ts'

export interface ActiveRulesOptions extends PoliciesOptions {
  /** The mode in force, and why it is. */
  readonly mode: () => { readonly mode: Mode; readonly why?: string | undefined }
  /** How the paths of a server's tools are resolved. */
  readonly worldOf: (server: string) => PathContext
  /** The roots that the client of a call gave to its server. If missing, there are none. */
  readonly rootsOf?: (call: Call) => readonly string[]
  /** What the entry of a server says about its data. */
  readonly sensitivityOf?: (server: string) => PolicyValue<SensitivityRule> | undefined
  /** Which part of a tool's results is returned. If missing, all of it. */
  readonly shapingOf?: (offer: Offer, policy: ToolPolicy) => ShapingRules
}

/** All rules in force, compiled for calls. They are compiled again when any of them changes. */
export class ActiveRules {
  readonly #options: ActiveRulesOptions
  readonly #policies: Policies
  #rules = new WeakMap<ToolPolicy, ToolRules>()
  #problems = new WeakMap<ToolPolicy, readonly string[]>()
  #modeState: ModeRules | undefined

  constructor(options: ActiveRulesOptions) {
    this.#options = options
    this.#policies = new Policies(options)
  }

  invalidate(): void {
    this.#policies.invalidate()
    this.#rules = new WeakMap()
    this.#problems = new WeakMap()
    this.#modeState = undefined
  }

  readonly policyOf = (offer: Offer): ToolPolicy => this.#policies.policyOf(offer)

  /** Whether there is an entry for this tool only. */
  readonly hasOwnEntry = (offer: Offer): boolean => this.#policies.hasOwnEntry(offer)

  /** Every name by which people may write it. */
  readonly namesOf = (offer: Offer): readonly string[] => this.#policies.namesOf(offer)

  /** Every entry of tools.yaml that matches it, also by a pattern. */
  readonly entriesOf = (offer: Offer): readonly ToolEntry[] => this.#policies.entriesOf(offer)

  /** The entries that match nothing else. */
  readonly ownEntriesOf = (offer: Offer): readonly ToolEntry[] => this.#policies.ownEntriesOf(offer)

  /** The invalid rules of an offer, with their source locations. */
  readonly problemsOf = (offer: Offer): readonly string[] => {
    const policy = this.policyOf(offer)
    const known = this.#problems.get(policy)
    if (known) return known
    const problems = findRuleProblems(policy, this.#options.worldOf(offer.server))
    this.#problems.set(policy, problems)
    return problems
  }

  /** What is suspicious in its definition. */
  readonly findingsOf = (offer: Offer): readonly Finding[] => this.#policies.findingsOf(offer)

  readonly neighbourFindingsOf = (offer: Offer): readonly Finding[] => this.#policies.neighbourFindingsOf(offer)

  /** The findings that nobody has accepted: each use needs approval. */
  readonly openFindingsOf = (offer: Offer): readonly Finding[] => this.#policies.openFindingsOf(offer).list

  /** The findings that would remain if its entry said `requires_approval: false`. */
  readonly remainingFindingsOf = (offer: Offer): readonly Finding[] => this.#policies.openFindingsOf(offer).remaining

  /** `requires_approval` in its own entries; `undefined` if it is missing. */
  readonly approvalInEntry = (offer: Offer): boolean | undefined => this.#policies.approvalInEntry(offer)

  /** Whether its risk alone, without any findings, requires approval. */
  readonly needsApprovalByRisk = (offer: Offer): boolean => this.#policies.needsApprovalByRisk(offer)

  /** Every pin that tools.yaml names. */
  readonly pins = (): ReadonlySet<string> =>
    new Set(this.#options.file().entries.flatMap(({ fields: { pin } }) => pin ?? []))

  readonly rulesOf = (offer: Offer): ToolRules => {
    const policy = this.policyOf(offer)
    const known = this.#rules.get(policy)
    if (known) return known
    const rules = this.#compile(offer, policy)
    this.#rules.set(policy, rules)
    return rules
  }

  readonly modeState = (): ModeRules => {
    if (this.#modeState) return this.#modeState
    const { mode, why } = this.#options.mode()
    const { modePolicies, categories, path } = this.#options.file()
    this.#modeState = { mode, ...(why && { why }), policies: modePolicies, categories, file: path }
    return this.#modeState
  }

  #compile(offer: Offer, policy: ToolPolicy): ToolRules {
    const { settings, worldOf, shapingOf, sensitivityOf, rootsOf = () => [] } = this.#options
    const names = this.#policies.namesOf(offer)
    const { autoApprove } = settings()
    const world = worldOf(offer.server)
    return compileToolRules({
      ...{ offer, policy, names, world, autoApprove, rootsOf },
      state: this.modeState(),
      shaping: shapingOf?.(offer, policy) ?? UNSHAPED,
      serverSensitivity: sensitivityOf?.(offer.server),
      openFindings: this.#policies.openFindingsOf(offer),
    })
  }
}
