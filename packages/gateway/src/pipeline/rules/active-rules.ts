import type { Finding, Mode, ModeRules, PathContext, ToolEntry, ToolPolicy } from '@sallyport/core'
import type { Offer } from '../../catalog/catalog.ts'
import { type ShapingRules, UNSHAPED } from '../../isolation/isolation.ts'
import type { Call } from '../call.ts'
import { Policies, type PoliciesOptions } from './policies.ts'
import { findRuleProblems } from './rule-problems.ts'
import { compileToolRules, type ToolRules } from './tool-rules.ts'

export interface ActiveRulesOptions extends PoliciesOptions {
  /** The mode in force, and why it is. */
  readonly mode: () => { readonly mode: Mode; readonly why?: string | undefined }
  /** Where the paths of a server's tools lead. */
  readonly worldOf: (server: string) => PathContext
  /** The roots that the client of a call gave to its server; absent: none. */
  readonly rootsOf?: (call: Call) => readonly string[]
  /** What goes back of the results of a tool; absent: all. */
  readonly shapingOf?: (offer: Offer, policy: ToolPolicy) => ShapingRules
}

/** All rules in force, made ready for calls; read anew when any of them changes. */
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

  /** Whether people have an entry for just this tool. */
  readonly hasOwnEntry = (offer: Offer): boolean => this.#policies.hasOwnEntry(offer)

  /** Every entry of tools.yaml that is about it, also by a pattern. */
  /** Every way in which people may write what it is called. */
  readonly namesOf = (offer: Offer): readonly string[] => this.#policies.namesOf(offer)

  readonly entriesOf = (offer: Offer): readonly ToolEntry[] => this.#policies.entriesOf(offer)

  /** Those that are about nothing else. */
  readonly ownEntriesOf = (offer: Offer): readonly ToolEntry[] => this.#policies.ownEntriesOf(offer)

  /** What of its rules cannot be followed, and where that stands. */
  readonly problemsOf = (offer: Offer): readonly string[] => {
    const policy = this.policyOf(offer)
    const known = this.#problems.get(policy)
    if (known) return known
    const flaws = findRuleProblems(policy, this.#options.worldOf(offer.server))
    this.#problems.set(policy, flaws)
    return flaws
  }

  /** What is suspicious about its definition. */
  readonly findingsOf = (offer: Offer): readonly Finding[] => this.#policies.findingsOf(offer)

  readonly neighbourFindingsOf = (offer: Offer): readonly Finding[] => this.#policies.neighbourFindingsOf(offer)

  /** What of that nobody has accepted: each use asks. */
  readonly doubtsOf = (offer: Offer): readonly Finding[] => this.#policies.doubtsOf(offer).open

  /** Those that would be left if its entry said that it needs no approval. */
  readonly remainingDoubtsOf = (offer: Offer): readonly Finding[] => this.#policies.doubtsOf(offer).remaining

  /** What an entry of its own says about approval; undefined where it says nothing. */
  readonly approvalInEntry = (offer: Offer): boolean | undefined => this.#policies.approvalInEntry(offer)

  /** Whether its risk alone, had nothing been found in its definition, asks a person. */
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
    const { settings, worldOf, shapingOf, rootsOf = () => [] } = this.#options
    const names = this.#policies.namesOf(offer)
    const { autoApprove } = settings()
    const world = worldOf(offer.server)
    return compileToolRules({
      ...{ offer, policy, names, world, autoApprove, rootsOf },
      state: this.modeState(),
      shaping: shapingOf?.(offer, policy) ?? UNSHAPED,
      doubts: this.#policies.doubtsOf(offer),
    })
  }
}
