import { ALLOW, type RuleSource, type Verdict } from './decide.ts'
import type { Mode } from './mode.ts'
import type { Permission } from './permission.ts'
import type { Ruled, ToolsFile } from './tool-policy.ts'

/** What the rules know of the mode in force. */
export interface ModeState {
  readonly mode: Mode
  /** Why it is in force, in the words of whoever set it. */
  readonly why?: string
  readonly policies: ToolsFile['modePolicies']
  readonly categories: ToolsFile['categories']
  /** Where policies and categories are written. */
  readonly file: string
}

/** What decides in which modes a tool can be called. */
export interface ModeTraits {
  readonly allowedInModes: Ruled<readonly Mode[]>
  readonly forbiddenInModes: Ruled<readonly Mode[]>
  readonly permission: Ruled<readonly Permission[]>
  readonly essential: Ruled<boolean>
  readonly category: Ruled<string>
}

/** What decides whether a person has to say yes. */
export interface ApprovalTraits {
  readonly requiresApproval: Ruled<boolean>
  readonly requiresApprovalInModes: Ruled<readonly Mode[]>
  readonly category: Ruled<string>
}

/** GOV-12 and GOV-13: may this tool be called in the mode that is in force? */
export function judgeMode(tool: ModeTraits, state: ModeState): Verdict {
  const { forbiddenInModes } = tool
  if (forbiddenInModes.value.includes(state.mode))
    return refusal(state, 'forbidden_in_modes of this tool names it', forbiddenInModes.rule)
  return judgeAllowed(tool, state) ?? judgeCategory(tool, state) ?? ALLOW
}

/** LOCKDOWN and RECOVERY go by what a tool does: discovery writes `allowed_in_modes` for every tool and names neither. */
function judgeAllowed(tool: ModeTraits, state: ModeState): Verdict | undefined {
  const { value: modes, rule } = tool.allowedInModes
  if (modes.length === 0) return refusal(state, 'allowed_in_modes of this tool is empty: it is never called', rule)
  switch (state.mode) {
    case 'LOCKDOWN':
      if (!isReading(tool)) return refusal(state, 'only READ tools marked `essential` are left', tool.permission.rule)
      if (tool.essential.value) return undefined
      return refusal(state, 'this tool is not marked `essential`', tool.essential.rule)
    case 'RECOVERY':
      if (isReading(tool)) return undefined
      return refusal(state, 'only READ tools are left', tool.permission.rule)
    default:
      return judgeList(tool, state)
  }
}

function judgeList({ allowedInModes: { value, reason, rule } }: ModeTraits, state: ModeState): Verdict | undefined {
  if (value.includes(state.mode)) return undefined
  return refusal(state, `this tool can be called in ${value.join(', ')} only (${reason})`, rule)
}

/** A list of categories speaks only of those that some list names, and a mode without a list takes none away. */
function judgeCategory({ category }: ModeTraits, state: ModeState): Verdict | undefined {
  const own = state.policies.get(state.mode)
  if (own?.allowedCategories === undefined || own.allowedCategories.includes(category.value)) return undefined
  const isNamed = [...state.policies.values()].some(({ allowedCategories }) =>
    allowedCategories?.includes(category.value),
  )
  if (!isNamed) return undefined
  const place = { file: state.file, line: own.line }
  return refusal(state, `its policy leaves no tools of the category ${category.value}`, place)
}

/** Whether a person has to say yes in the mode that is in force, and who wants it so. */
export function approvalNeeded(tool: ApprovalTraits, state: ModeState): Ruled<boolean> {
  const { requiresApproval, requiresApprovalInModes, category } = tool
  const { mode, file } = state
  if (requiresApproval.value) return requiresApproval
  if (requiresApprovalInModes.value.includes(mode))
    return needed(`This tool needs approval while the mode is ${mode}.`, requiresApprovalInModes.rule)
  const common = state.categories.get(category.value)
  if (common?.requiresApprovalInModes?.includes(mode))
    return needed(`Tools of the category ${category.value} need approval while the mode is ${mode}.`, {
      file,
      line: common.line,
    })
  return mode === 'LOCKDOWN' ? needed('In LOCKDOWN every call needs approval.', undefined) : requiresApproval
}

/** GOV-8: what it may do besides, it must not write. */
const isReading = ({ permission: { value } }: ModeTraits): boolean => value.includes('READ') && !value.includes('WRITE')

function refusal({ mode, why }: ModeState, what: string, rule: RuleSource | undefined): Verdict {
  const because = why ? ` (${why})` : ''
  const reason = `The mode is ${mode}${because}: ${what}.`
  return { outcome: 'deny', code: 'MODE_FORBIDS', reason, ...(rule && { rule }) }
}

const needed = (reason: string, rule: RuleSource | undefined): Ruled<boolean> => ({
  value: true,
  reason,
  ...(rule && { rule }),
})
