import { useQuery } from '@tanstack/react-query'
import { ChevronRight } from 'lucide-react'
import { Link } from 'react-router'
import type { RuledTool, ToolDetail } from '../../../../gateway/src/serve/api/api.ts'
import { DiffView } from '../../parts/diff-view.tsx'
import { ForeignName, ForeignText } from '../../parts/foreign-text.tsx'
import { formatRule } from '../../parts/format.ts'
import { Page, Panel } from '../../parts/page.tsx'
import { Loaded } from '../../parts/states.tsx'
import { useMay } from '../../shell/roles.ts'
import { DefinitionReview, fetchTool, toDefinitionLines } from './definition-review.tsx'
import { EditDock } from './edit-dock.tsx'
import { RuleCells } from './rule-cells.tsx'
import { replaceEdits, setEdit, useRuleEdits } from './rule-edits.ts'
import { RULE_CHOICES } from './rule-fields.tsx'

interface ToolRulesProps {
  /** Its canonical name. */
  readonly name: string
  readonly rules: readonly RuledTool[]
}

/** One tool: what needs a review, every rule in force with its reason, and its definition. */
export function ToolRules({ name, rules }: ToolRulesProps) {
  const query = useQuery({ queryKey: ['tools', 'detail', name], queryFn: () => fetchTool(name) })
  return (
    <Page
      tab={name.slice(0, 100)}
      title={<ForeignName name={query.data ? `${query.data.server}/${query.data.tool}` : name} />}
      crumb={
        <Link className="crumb" to="/governance">
          Governance <ChevronRight className="i i-s" aria-hidden="true" />
        </Link>
      }
      lead={<ForeignText text={query.data?.description ?? query.data?.title ?? ''} limit={300} />}
    >
      <div className="stack governance">
        <Loaded query={query} what={`the rules of ${name.slice(0, 100)}`}>
          {(detail) => (
            <>
              <DefinitionReview of={{ kind: 'tool', name }} title="Needs a review" />
              <Editable tool={rules.find(({ canonical }) => canonical === detail.canonical)} />
              <Policy detail={detail} />
              <Panel title="Definition" sub="as its server wrote it, with the name that agents see">
                <div className="pad">
                  <DiffView title="Definition" lines={toDefinitionLines(detail.definition)} wraps />
                </div>
              </Panel>
            </>
          )}
        </Loaded>
        <EditDock tools={rules} />
      </div>
    </Page>
  )
}

function Editable({ tool }: { readonly tool: RuledTool | undefined }) {
  const edits = useRuleEdits()
  const mayEdit = useMay('operator')
  if (tool === undefined) return null
  return (
    <Panel
      title="Main rules"
      sub={tool.entry ? '' : 'It has no entry of its own in tools.yaml, so nothing can be edited here.'}
    >
      <div className="rule-columns">
        {RULE_CHOICES.map(({ field, title }) => (
          <span key={field} className="small faint" aria-hidden="true">
            {title}
          </span>
        ))}
        <RuleCells
          tool={tool}
          edit={edits.get(tool.canonical)}
          mayEdit={mayEdit}
          onEdit={(edit) => replaceEdits(setEdit(edits, [tool], edit))}
        />
      </div>
    </Panel>
  )
}

const Policy = ({ detail: { policy, entries } }: { readonly detail: ToolDetail }) => (
  <Panel title="Every rule in force" sub="the strictest value wins">
    <div className="scroll-x">
      <table className="table compact">
        <thead>
          <tr>
            <th>Field</th>
            <th>Value</th>
            <th>Why</th>
            <th>Where</th>
          </tr>
        </thead>
        <tbody>
          {policy.map(({ field, value, reason, rule }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a field may have several values, which have no name.
            <tr key={index}>
              <td>
                <code>{field}</code>
              </td>
              <td className="wrap">
                <ForeignText text={formatValue(value)} limit={300} />
              </td>
              <td className="wrap muted">
                <ForeignText text={reason} limit={300} />
              </td>
              <td className="muted">{rule && <code title={`${rule.file}:${rule.line}`}>{formatRule(rule)}</code>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
    {entries.map(({ key, file, line, note }) => (
      <p key={`${file} ${line}`} className="row small">
        <span className="muted">Entry</span> <ForeignName name={key} />
        <code className="faint">{formatRule({ file, line })}</code>
        {note !== undefined && <ForeignText text={note} limit={300} />}
      </p>
    ))}
  </Panel>
)

const formatValue = (value: unknown): string => {
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(formatValue).join(', ')
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
}
