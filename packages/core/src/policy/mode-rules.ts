import { ALLOW, type RuleSource, type Verdict } from './decide.ts'
import type { Mode } from './mode.ts'
import type { Permission } from './permission.ts'
import type { ParsedToolsFile, PolicyValue } from './tools-file.ts'

/** The current mode, and the rules that depend on it. */
export interface ModeRules {
  readonly mode: Mode
  /** The reason given by the person who set it. */
  readonly why?: string
  readonly policies: ParsedToolsFile['modePolicies']
  readonly categories: ParsedToolsFile['categories']
  /** The file that defines policies and categories. */
  readonly file: string
}

/** The fields that decide in which modes a tool can be called. */
export interface ModeTraits {
  readonly allowedInModes: PolicyValue<readonly Mode[]>
  readonly forbiddenInModes: PolicyValue<readonly Mode[]>
  readonly permission: PolicyValue<readonly Permission[]>
  readonly essential: PolicyValue<boolean>
  readonly category: PolicyValue<string>
}

/** The fields that decide whether a call needs approval. */
export interface ApprovalTraits {
  readonly requiresApproval: PolicyValue<boolean>
  readonly requiresApprovalInModes: PolicyValue<readonly Mode[]>
  readonly category: PolicyValue<string>
}

/** Whether this tool may be called in the current mode (GOV-12, GOV-13). */
export function evaluateMode(tool: ModeTraits, state: ModeRules): Verdict {
  const { forbiddenInModes } = tool
  if (forbiddenInModes.value.includes(state.mode))
    return denyByMode(state, 'forbidden_in_modes of this tool contains it', forbiddenInModes.rule)
  return checkAllowedModes(tool, state) ?? checkCategory(tool, state) ?? ALLOW
}

/**
 * LOCKDOWN and RECOVERY depend on what a tool does, not on `allowed_in_modes`: discovery writes that list for every
 * tool and includes neither mode.
 */
function checkAllowedModes(tool: ModeTraits, state: ModeRules): Verdict | undefined {
  const { value: modes, rule } = tool.allowedInModes
  if (modes.length === 0)
    return denyByMode(state, 'allowed_in_modes of this tool is empty, so it can never be called', rule)
  switch (state.mode) {
    case 'LOCKDOWN':
      if (!isReadOnly(tool))
        return denyByMode(state, 'only READ tools marked `essential` are allowed', tool.permission.rule)
      if (tool.essential.value) return undefined
      return denyByMode(state, 'this tool is not marked `essential`', tool.essential.rule)
    case 'RECOVERY':
      if (isReadOnly(tool)) return undefined
      return denyByMode(state, 'only READ tools are allowed', tool.permission.rule)
    default:
      return checkModeList(tool, state)
  }
}

function checkModeList({ allowedInModes: { value, reason, rule } }: ModeTraits, state: ModeRules): Verdict | undefined {
  if (value.includes(state.mode)) return undefined
  return denyByMode(state, `this tool can be called in ${value.join(', ')} only (${reason})`, rule)
}

/** A category that no mode's list contains is never forbidden, and a mode without a list forbids none. */
function checkCategory({ category }: ModeTraits, state: ModeRules): Verdict | undefined {
  const own = state.policies.get(state.mode)
  if (own?.allowedCategories === undefined || own.allowedCategories.includes(category.value)) return undefined
  const isNamed = [...state.policies.values()].some(({ allowedCategories }) =>
    allowedCategories?.includes(category.value),
  )
  if (!isNamed) return undefined
  const rule = { file: state.file, line: own.line }
  return denyByMode(state, `its policy does not allow tools of the category ${category.value}`, rule)
}

/** Whether a call needs approval in the current mode, and by which rule. */
export function resolveApproval(tool: ApprovalTraits, state: ModeRules): PolicyValue<boolean> {
  const { requiresApproval, requiresApprovalInModes, category } = tool
  const { mode, file } = state
  if (requiresApproval.value) return requiresApproval
  if (requiresApprovalInModes.value.includes(mode))
    return requireApproval(`This tool needs approval while the mode is ${mode}.`, requiresApprovalInModes.rule)
  const common = state.categories.get(category.value)
  if (common?.requiresApprovalInModes?.includes(mode))
    return requireApproval(`Tools of the category ${category.value} need approval while the mode is ${mode}.`, {
      file,
      line: common.line,
    })
  return mode === 'LOCKDOWN' ? requireApproval('In LOCKDOWN every call needs approval.', undefined) : requiresApproval
}

/** It reads and does not write; it may also connect (GOV-8). */
const isReadOnly = ({ permission: { value } }: ModeTraits): boolean =>
  value.includes('READ') && !value.includes('WRITE')

function denyByMode({ mode, why }: ModeRules, what: string, rule: RuleSource | undefined): Verdict {
  const because = why ? ` (${why})` : ''
  const reason = `The mode is ${mode}${because}: ${what}.`
  return { outcome: 'deny', code: 'MODE_FORBIDS', reason, ...(rule && { rule }) }
}

const requireApproval = (reason: string, rule: RuleSource | undefined): PolicyValue<boolean> => ({
  value: true,
  reason,
  ...(rule && { rule }),
})
