import { ALLOW, compileArgumentRules, findPaths, type Json, type JsonObject, type ToolPolicy } from '@sallyport/core'
import type { Offer } from '../catalog/catalog.ts'
import type { AutoApproval } from '../config/config.ts'
import { compilePattern } from '../governance/governance.ts'
import type { ToolRules } from '../pipeline/pipeline.ts'
import type { ArgumentGaps } from './kept-gaps.ts'

export interface GapContext {
  readonly gaps: ArgumentGaps
  readonly offer: Offer
  readonly rules: ToolRules
  readonly autoApprove: readonly AutoApproval[]
}

/** Whether a rule looks at something that the record does not tell. Where that cannot be said, it does. */
export function dependsOnGaps(sight: GapContext): boolean {
  const { gaps, rules } = sight
  if (gaps.values === undefined && !gaps.isOpen) return false
  return pathRulesDepend(sight) || argumentRulesDepend(rules.policy, gaps) || autoApprovalDepends(sight)
}

function pathRulesDepend({ gaps, offer, rules: { policy } }: GapContext): boolean {
  const { allowedPaths, forbiddenPaths } = policy
  return allowedPaths.length + forbiddenPaths.length > 0 && mayMissPaths(gaps, offer, policy)
}

function mayMissPaths({ values, isOpen }: ArgumentGaps, offer: Offer, { pathArguments }: ToolPolicy): boolean {
  if (isOpen || offer.kind !== 'tool') return true
  return findPaths(asObject(values), offer.original.inputSchema, pathArguments).length > 0
}

function argumentRulesDepend(policy: ToolPolicy, { values, isOpen }: ArgumentGaps): boolean {
  return policy.arguments.some(({ value: { fields, denyPatterns } }) => {
    const names = Object.keys(fields)
    if (denyPatterns.length > 0 || (isOpen && names.length > 0)) return true
    // What these rules would forbid is what they look at.
    const looking = Object.fromEntries(names.map((name) => [name, { forbidden: true }]))
    return compileArgumentRules({ fields: looking, denyPatterns: [] }, { compilePattern })(asObject(values)) !== ALLOW
  })
}

/** What nobody has to be asked about may hang on arguments too. */
function autoApprovalDepends({ gaps, offer, rules, autoApprove }: GapContext): boolean {
  if (!rules.approval.value) return false
  if (rules.policy.unattendedPaths.length > 0 && mayMissPaths(gaps, offer, rules.policy)) return true
  return autoApprove.some((rule) => rule.paths !== undefined || rule.arguments !== undefined)
}

const asObject = (values: Json | undefined): JsonObject => (values ?? {}) as JsonObject
