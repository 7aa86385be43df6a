import type { Finding, Mode, ModeState, PathWorld, ToolEntry, ToolPolicy } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import { RETURN_ALL, type ReturnRules } from '../isolation/isolation.ts'
import type { Call } from './call.ts'
import { Policies, type PoliciesOptions } from './policies.ts'
import { ruleFlaws } from './rule-flaws.ts'
import { compileRules, type ToolRules } from './tool-rules.ts'

export interface RuleBookOptions extends PoliciesOptions {
  /** The mode in force, and why it is. */
  readonly mode: () => { readonly mode: Mode; readonly why?: string | undefined }
  /** Where the paths of a server's tools lead. */
  readonly worldOf: (server: string) => PathWorld
  /** The roots that the client of a call gave to its server; absent: none. */
  readonly rootsOf?: (call: Call) => readonly string[]
  /** What goes back of the results of a tool; absent: all. */
  readonly returnsOf?: (offer: Offer, policy: ToolPolicy) => ReturnRules
}

/** All rules in force, made ready for calls; read anew when any of them changes. */
export class RuleBook {
  readonly #options: RuleBookOptions
  readonly #policies: Policies
  #rules = new WeakMap<ToolPolicy, ToolRules>()
  #flaws = new WeakMap<ToolPolicy, readonly string[]>()
  #modeState: ModeState | undefined

  constructor(options: RuleBookOptions) {
    this.#options = options
    this.#policies = new Policies(options)
  }

  forget(): void {
    this.#policies.forget()
    this.#rules = new WeakMap()
    this.#flaws = new WeakMap()
    this.#modeState = undefined
  }

  readonly policyOf = (offer: Offer): ToolPolicy => this.#policies.policyOf(offer)

  /** Whether people have an entry for just this tool. */
  readonly isWritten = (offer: Offer): boolean => this.#policies.isWritten(offer)

  /** Every entry of tools.yaml that is about it, also by a pattern. */
  /** Every way in which people may write what it is called. */
  readonly namesOf = (offer: Offer): readonly string[] => this.#policies.namesOf(offer)

  readonly entriesOf = (offer: Offer): readonly ToolEntry[] => this.#policies.entriesOf(offer)

  /** Those that are about nothing else. */
  readonly ownEntriesOf = (offer: Offer): readonly ToolEntry[] => this.#policies.ownEntriesOf(offer)

  /** What of its rules cannot be followed, and where that stands. */
  readonly flawsOf = (offer: Offer): readonly string[] => {
    const policy = this.policyOf(offer)
    const known = this.#flaws.get(policy)
    if (known) return known
    const flaws = ruleFlaws(policy, this.#options.worldOf(offer.server))
    this.#flaws.set(policy, flaws)
    return flaws
  }

  /** What is suspicious about its definition. */
  readonly findingsOf = (offer: Offer): readonly Finding[] => this.#policies.findingsOf(offer)

  readonly neighbourFindingsOf = (offer: Offer): readonly Finding[] => this.#policies.neighbourFindingsOf(offer)

  /** What of that nobody has accepted: each use asks. */
  readonly doubtsOf = (offer: Offer): readonly Finding[] => this.#policies.doubtsOf(offer).open

  /** Those that would be left if its entry said that it needs no approval. */
  readonly lastingDoubtsOf = (offer: Offer): readonly Finding[] => this.#policies.doubtsOf(offer).lasting

  /** What an entry of its own says about approval; undefined where it says nothing. */
  readonly approvalInEntry = (offer: Offer): boolean | undefined => this.#policies.approvalInEntry(offer)

  /** Whether its risk alone, had nothing been found in its definition, asks a person. */
  readonly asksByRisk = (offer: Offer): boolean => this.#policies.asksByRisk(offer)

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

  readonly modeState = (): ModeState => {
    if (this.#modeState) return this.#modeState
    const { mode, why } = this.#options.mode()
    const { modePolicies, categories, path } = this.#options.file()
    this.#modeState = { mode, ...(why && { why }), policies: modePolicies, categories, file: path }
    return this.#modeState
  }

  #compile(offer: Offer, policy: ToolPolicy): ToolRules {
    const { settings, worldOf, returnsOf, rootsOf = () => [] } = this.#options
    const names = this.#policies.namesOf(offer)
    const { autoApprove } = settings()
    const world = worldOf(offer.server)
    return compileRules({
      ...{ offer, policy, names, world, autoApprove, rootsOf },
      state: this.modeState(),
      returns: returnsOf?.(offer, policy) ?? RETURN_ALL,
      doubts: this.#policies.doubtsOf(offer),
    })
  }
}
