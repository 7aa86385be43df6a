import { type ModeRules, resolveApproval, SallyportError, type ToolEntry, type ToolPolicy } from '@sallyport/core'

export interface AlwaysApproveOptions {
  readonly policy: ToolPolicy
  /** Every entry of tools.yaml that is about the tool. */
  readonly entries: readonly ToolEntry[]
  /** Those that are about nothing else. */
  readonly own: readonly ToolEntry[]
  readonly state: ModeRules
}

/** The key of the entry in which `requires_approval: false` ends all asking; or why no single one does. */
export function findAlwaysApproveKey({ policy, entries, own, state }: AlwaysApproveOptions): string | SallyportError {
  const { requiresApprovalInModes, category } = policy
  const requiresApproval = { value: false, reason: '' }
  const left = resolveApproval({ requiresApproval, requiresApprovalInModes, category }, state)
  if (left.value) return refused(left.reason, 'Change that rule, or approve it once or for the session.')
  const demanding = entries.filter(({ fields }) => fields.requiresApproval === true)
  const [target = own[0], ...others] = demanding
  if (target === undefined) return refused('It has no entry in tools.yaml.', 'Write one: `sallyport tools show`.')
  const [foreign] = own.includes(target) ? others : [target]
  if (foreign === undefined) return target.key
  const place = `the entry "${foreign.key}" in line ${foreign.line} of tools.yaml`
  return refused(`It is ${place} that asks, which is not the one of this tool alone.`, 'Change that entry.')
}

const refused = (why: string, hint: string): SallyportError =>
  new SallyportError('ALWAYS_REFUSED', `"always" would not end the asking. ${why}`, { hint })
