import { Link } from 'react-router'
import type { RuledTool } from '../../../../gateway/src/serve/api/api.ts'
import { ForeignName } from '../../parts/foreign-text.tsx'
import { RuleCells } from './rule-cells.tsx'
import type { RuleEdit } from './rule-edits.ts'
import { shortName } from './rules.ts'

interface RuleRowProps {
  readonly tool: RuledTool
  readonly edit: RuleEdit | undefined
  readonly mayEdit: boolean
  readonly isSelected: boolean
  /** `toHere`: also the rows between this one and the last that was selected. */
  readonly onSelect: (isSelected: boolean, toHere: boolean) => void
  readonly onEdit: (edit: RuleEdit) => void
}

export function RuleRow({ tool, edit, mayEdit, isSelected, onSelect, onEdit }: RuleRowProps) {
  const { canonical, server, tool: name, entry, builtIn } = tool
  return (
    <div className={`rule ${isSelected ? 'is-selected' : ''} ${tool.pin === 'changed' ? 'is-drift' : ''}`}>
      {mayEdit && entry ? (
        <label className="hit">
          <input
            className="check"
            type="checkbox"
            aria-label={`Select ${shortName(tool)}`}
            checked={isSelected}
            onChange={({ target, nativeEvent }) =>
              onSelect(target.checked, nativeEvent instanceof MouseEvent && nativeEvent.shiftKey)
            }
          />
        </label>
      ) : (
        <span />
      )}
      <span className="rule-name">
        <Link className="cut" to={`/governance/${encodeURIComponent(canonical)}`}>
          <ForeignName name={`${server}/${name}`} oneLine />
        </Link>
        <span className="rule-source">
          {entry ? `entry at line ${entry.line}` : builtIn ? 'part of the gateway' : 'no entry of its own'}
        </span>
      </span>
      <RuleCells tool={tool} edit={edit} mayEdit={mayEdit} onEdit={onEdit} />
      <span className="rule-cell cell-claims">
        <span className="rule-value">{describeClaims(tool.claims)}</span>
        <span className="rule-source">{describeMoreClaims(tool.claims)}</span>
      </span>
      <PinCell tool={tool} />
    </div>
  )
}

function PinCell({ tool: { canonical, pin, findings, openFindings } }: { readonly tool: RuledTool }) {
  const to = `/governance/${encodeURIComponent(canonical)}`
  return (
    <span className="rule-cell cell-pin">
      {pin === 'changed' ? (
        <Link className="tag tag-bad" to={to}>
          changed
        </Link>
      ) : openFindings > 0 ? (
        <Link className="tag tag-ask" to={to}>
          suspicious
        </Link>
      ) : (
        <span className="rule-value muted">{pin === 'pinned' ? 'pinned' : 'not pinned'}</span>
      )}
      {findings > openFindings && <span className="rule-source">findings accepted</span>}
    </span>
  )
}

/** In the words of its server, which nobody has to believe. */
function describeClaims({ readOnly, destructive }: RuledTool['claims']): string {
  if (readOnly) return 'only reads'
  if (destructive) return 'destroys'
  if (destructive === false) return 'only adds'
  return readOnly === false ? 'writes' : '–'
}

const describeMoreClaims = ({ readOnly, idempotent, openWorld }: RuledTool['claims']): string =>
  [!readOnly && idempotent && 'repeatable', openWorld === true && 'reaches out', openWorld === false && 'local']
    .filter((claim) => claim !== false && claim !== undefined)
    .join(', ')
