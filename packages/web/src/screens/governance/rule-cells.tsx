import { ChevronDown } from 'lucide-react'
import type { RuledTool } from '../../../../gateway/src/serve/api/api.ts'
import type { RuleEdit, RuleField } from './rule-edits.ts'
import { fieldsOf, formatRuleValue, RULE_CHOICES, type RuleChoice, RuleSign } from './rule-fields.tsx'
import { shortName } from './rules.ts'

interface RuleCellsProps {
  readonly tool: RuledTool
  readonly edit: RuleEdit | undefined
  readonly mayEdit: boolean
  readonly onEdit: (edit: RuleEdit) => void
}

/** The values of a tool that can be edited, each with where it comes from. */
export const RuleCells = (props: RuleCellsProps) =>
  RULE_CHOICES.map((choice) => <RuleCell key={choice.field} choice={choice} {...props} />)

function RuleCell({ choice, tool, edit, mayEdit, onEdit }: RuleCellsProps & { readonly choice: RuleChoice }) {
  const { field, title, options } = choice
  const before = fieldsOf(tool)
  const now = { ...before, ...edit }
  const isEdited = edit?.[field] !== undefined
  return (
    <span className={`rule-cell cell-${field} ${isEdited ? 'is-edited' : ''}`}>
      <span className="rule-value">
        <RuleSign fields={now} field={field} />
        {mayEdit && tool.entry && <ChevronDown className="i i-s" aria-hidden="true" />}
      </span>
      <span className="rule-source">
        {isEdited ? (
          `was ${formatRuleValue(before[field])}${isSharedWith(tool, field) ? '; the strictest wins' : ''}`
        ) : (
          <SourceText tool={tool} choice={choice} />
        )}
      </span>
      {mayEdit && tool.entry && (
        <select
          aria-label={`${title} of ${shortName(tool)}`}
          value={String(now[field] ?? '')}
          onChange={({ target }) => {
            const chosen = options.find(({ value }) => value === target.value)
            if (chosen) onEdit(chosen.edit)
          }}
        >
          {now[field] === undefined && <option value="">not set</option>}
          {options.map(({ value, text }) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      )}
    </span>
  )
}

/** Whether another entry for the tool says something too: that may be the stricter one, and then stays in force. */
function isSharedWith(tool: RuledTool, field: RuleField): boolean {
  const source = tool[field]
  return source?.from === 'server' || (source?.from === 'pattern' && source.rule?.file.endsWith('tools.yaml') === true)
}

function SourceText({ tool, choice: { field } }: { readonly tool: RuledTool; readonly choice: RuleChoice }) {
  if (field === 'requiresApproval' && tool.openFindings > 0 && !tool.requiresApproval.value)
    return <span className="t-ask">asks: suspicious</span>
  const source = tool[field]
  if (source === undefined) return null
  const { from, rule, reason } = source
  if (rule === undefined) return <span title={reason}>inferred</span>
  const where = `${rule.file}:${rule.line}`
  return (
    <span title={where}>
      {from === 'entry' ? `line ${rule.line}` : `${from}, ${rule.file.split(/[\\/]/).at(-1)}:${rule.line}`}
    </span>
  )
}
