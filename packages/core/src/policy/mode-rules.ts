import { ALLOW, type RuleSource, type Verdict } from './decide.ts'
import type { Mode } from './mode.ts'
import type { Permission } from './permission.ts'
import type { ParsedToolsFile, PolicyValue } from './tools-file.ts'

/** What the rules know of the mode in force. */
export interface ModeRules {
  readonly mode: Mode
  /** Why it is in force, in the words of whoever set it. */
  readonly why?: string
  readonly policies: ParsedToolsFile['modePolicies']
  readonly categories: ParsedToolsFile['categories']
  /** Where policies and categories are written. */
  readonly file: string
}

/** What decides in which modes a tool can be called. */
export interface ModeTraits {
  readonly allowedInModes: PolicyValue<readonly Mode[]>
  readonly forbiddenInModes: PolicyValue<readonly Mode[]>
  readonly permission: PolicyValue<readonly Permission[]>
  readonly essential: PolicyValue<boolean>
  readonly category: PolicyValue<string>
}

/** What decides whether a person has to say yes. */
export interface ApprovalTraits {
  readonly requiresApproval: PolicyValue<boolean>
  readonly requiresApprovalInModes: PolicyValue<readonly Mode[]>
  readonly category: PolicyValue<string>
}

/** GOV-12 and GOV-13: may this tool be called in the mode that is in force? */
export function evaluateMode(tool: ModeTraits, state: ModeRules): Verdict {
  const { forbiddenInModes } = tool
  if (forbiddenInModes.value.includes(state.mode))
    return denyByMode(state, 'forbidden_in_modes of this tool names it', forbiddenInModes.rule)
  return checkAllowedModes(tool, state) ?? checkCategory(tool, state) ?? ALLOW
}

/** LOCKDOWN and RECOVERY go by what a tool does: discovery writes `allowed_in_modes` for every tool and names neither. */
function checkAllowedModes(tool: ModeTraits, state: ModeRules): Verdict | undefined {
  const { value: modes, rule } = tool.allowedInModes
  if (modes.length === 0) return denyByMode(state, 'allowed_in_modes of this tool is empty: it is never called', rule)
  switch (state.mode) {
    case 'LOCKDOWN':
      if (!isReadOnly(tool))
        return denyByMode(state, 'only READ tools marked `essential` are left', tool.permission.rule)
      if (tool.essential.value) return undefined
      return denyByMode(state, 'this tool is not marked `essential`', tool.essential.rule)
    case 'RECOVERY':
      if (isReadOnly(tool)) return undefined
      return denyByMode(state, 'only READ tools are left', tool.permission.rule)
    default:
      return checkModeList(tool, state)
  }
}

function checkModeList({ allowedInModes: { value, reason, rule } }: ModeTraits, state: ModeRules): Verdict | undefined {
  if (value.includes(state.mode)) return undefined
  return denyByMode(state, `this tool can be called in ${value.join(', ')} only (${reason})`, rule)
}

/** A list of categories speaks only of those that some list names, and a mode without a list takes none away. */
function checkCategory({ category }: ModeTraits, state: ModeRules): Verdict | undefined {
  const own = state.policies.get(state.mode)
  if (own?.allowedCategories === undefined || own.allowedCategories.includes(category.value)) return undefined
  const isNamed = [...state.policies.values()].some(({ allowedCategories }) =>
    allowedCategories?.includes(category.value),
  )
  if (!isNamed) return undefined
  const place = { file: state.file, line: own.line }
  return denyByMode(state, `its policy leaves no tools of the category ${category.value}`, place)
}

/** Whether a person has to say yes in the mode that is in force, and who wants it so. */
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

/** GOV-8: what it may do besides, it must not write. */
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
