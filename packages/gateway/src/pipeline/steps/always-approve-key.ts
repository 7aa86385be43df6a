import { type ModeRules, resolveApproval, SallyportError, type ToolEntry, type ToolPolicy } from '@sallyport/core'

export interface AlwaysApproveOptions {
  readonly policy: ToolPolicy
  /** Every entry of tools.yaml that matches the tool. */
  readonly entries: readonly ToolEntry[]
  /** The entries that match nothing else. */
  readonly own: readonly ToolEntry[]
  readonly state: ModeRules
}

/** The key of the entry in which `requires_approval: false` would stop all approval requests; or why no single entry can. */
export function findAlwaysApproveKey({ policy, entries, own, state }: AlwaysApproveOptions): string | SallyportError {
  const { requiresApprovalInModes, category } = policy
  const requiresApproval = { value: false, reason: '' }
  const left = resolveApproval({ requiresApproval, requiresApprovalInModes, category }, state)
  if (left.value) return refused(left.reason, 'Change that rule, or approve it once or for the session.')
  const requiring = entries.filter(({ fields }) => fields.requiresApproval === true)
  const [target = own[0], ...others] = requiring
  if (target === undefined) return refused('It has no entry in tools.yaml.', 'Write one: `sallyport tools show`.')
  const [foreign] = own.includes(target) ? others : [target]
  if (foreign === undefined) return target.key
  const location = `"${foreign.key}" in line ${foreign.line} of tools.yaml`
  return refused(
    `The entry ${location} requires approval too, and it is not for this tool alone.`,
    'Change that entry.',
  )
}

const refused = (why: string, hint: string): SallyportError =>
  new SallyportError('ALWAYS_REFUSED', `"always" would not stop the approval requests. ${why}`, { hint })
