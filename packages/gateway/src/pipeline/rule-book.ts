import { ALLOW, approvalNeeded, type Mode, type ModeState, type ToolPolicy } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import { Policies, type PoliciesOptions } from './policies.ts'
import type { ToolRules } from './tool-rules.ts'

export interface RuleBookOptions extends PoliciesOptions {
  /** The mode in force, and why it is. */
  readonly mode: () => { readonly mode: Mode; readonly why?: string | undefined }
}

/** All rules in force, made ready for calls; read anew when any of them changes. */
export class RuleBook {
  readonly #options: RuleBookOptions
  readonly #policies: Policies
  #rules = new WeakMap<ToolPolicy, ToolRules>()
  #modeState: ModeState | undefined

  constructor(options: RuleBookOptions) {
    this.#options = options
    this.#policies = new Policies(options)
  }

  forget(): void {
    this.#policies.forget()
    this.#rules = new WeakMap()
    this.#modeState = undefined
  }

  readonly policyOf = (offer: Offer): ToolPolicy => this.#policies.policyOf(offer)

  readonly rulesOf = (offer: Offer): ToolRules => {
    const policy = this.policyOf(offer)
    const known = this.#rules.get(policy)
    if (known) return known
    const rules = this.#compile(policy)
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

  #compile(policy: ToolPolicy): ToolRules {
    const state = this.modeState()
    return {
      policy,
      mode: state.mode,
      approval: approvalNeeded(policy, state),
      judgeArguments: () => ALLOW,
      autoApproved: () => undefined,
    }
  }
}
