import { useRef, useState } from 'react'
import { useSearchParams } from 'react-router'
import type { RuledTool } from '../../../../gateway/src/serve/api/api.ts'
import { formatCount } from '../../parts/format.ts'
import { Empty } from '../../parts/states.tsx'
import { useIsPhone } from '../../parts/use-is-phone.ts'
import { VirtualRows } from '../../parts/virtual-rows.tsx'
import { useMay } from '../../shell/roles.ts'
import { FilterBar, SelectionBar } from './rule-bars.tsx'
import { type RuleEdit, type RuleEdits, replaceEdits, setEdit, useRuleEdits } from './rule-edits.ts'
import { RULE_CHOICES } from './rule-fields.tsx'
import { RuleRow } from './rule-row.tsx'
import { filterRules, readFilter } from './rules.ts'

const ROW_HEIGHT = 46
const PHONE_ROW_HEIGHT = 104

/** All tools with their rules. The filters are in the address. */
export function RuleTable({ tools }: { readonly tools: readonly RuledTool[] }) {
  const [search] = useSearchParams()
  const edits = useRuleEdits()
  const shown = filterRules(tools, readFilter(search))
  const { selected, mark, markRow } = useSelection(shown)
  const edit = (of: readonly RuledTool[], change: RuleEdit): void => replaceEdits(setEdit(edits, of, change))
  if (tools.length === 0)
    return (
      <Empty title="No tool here" command="sallyport tools">
        What a server offers appears here when it has answered once.
      </Empty>
    )
  return (
    <section className="panel rules" aria-label="The rules of the tools">
      <FilterBar tools={tools} />
      <SelectionBar
        tools={tools}
        shown={shown}
        selected={selected}
        onMark={mark}
        onEdit={(change) =>
          edit(
            tools.filter(({ canonical }) => selected.has(canonical)),
            change,
          )
        }
      />
      <RuleList
        shown={shown}
        edits={edits}
        selected={selected}
        onMark={markRow}
        onEdit={(tool, change) => edit([tool], change)}
      />
    </section>
  )
}

/** The tools that are selected, by their canonical names. Only those with an entry can be. */
function useSelection(shown: readonly RuledTool[]) {
  const [selected, select] = useState<ReadonlySet<string>>(new Set())
  const last = useRef<string>(undefined)
  const mark = (of: readonly RuledTool[], isSelected: boolean): void => {
    const next = new Set(selected)
    for (const { canonical, entry } of of)
      if (isSelected && entry) next.add(canonical)
      else next.delete(canonical)
    select(next)
  }
  const markRow = (tool: RuledTool, isSelected: boolean, toHere: boolean): void => {
    const [from, to] = [shown.findIndex(({ canonical }) => canonical === last.current), shown.indexOf(tool)]
    const isRange = toHere && from !== -1
    mark(isRange ? shown.slice(Math.min(from, to), Math.max(from, to) + 1) : [tool], isSelected)
    last.current = tool.canonical
  }
  return { selected, mark, markRow }
}

interface RuleListProps {
  readonly shown: readonly RuledTool[]
  readonly edits: RuleEdits
  readonly selected: ReadonlySet<string>
  readonly onMark: (tool: RuledTool, isSelected: boolean, toHere: boolean) => void
  readonly onEdit: (tool: RuledTool, edit: RuleEdit) => void
}

function RuleList({ shown, edits, selected, onMark, onEdit }: RuleListProps) {
  const mayEdit = useMay('operator')
  const isPhone = useIsPhone()
  if (shown.length === 0)
    return (
      <p className="pad muted" role="status">
        No tool matches these filters.
      </p>
    )
  return (
    <>
      <div className="rule rule-head" aria-hidden="true">
        <span />
        <span>Tool</span>
        {RULE_CHOICES.map(({ field, title }) => (
          <span key={field}>{title}</span>
        ))}
        <span>Server claims</span>
        <span>Definition</span>
      </div>
      <VirtualRows
        className="rules-list"
        rows={shown}
        rowHeight={isPhone ? PHONE_ROW_HEIGHT : ROW_HEIGHT}
        keyOf={({ canonical }) => canonical}
        focusField=".check"
        label={formatCount(shown.length, 'tool')}
        renderRow={(tool) => (
          <RuleRow
            tool={tool}
            edit={edits.get(tool.canonical)}
            mayEdit={mayEdit}
            isSelected={selected.has(tool.canonical)}
            onSelect={(isSelected, toHere) => onMark(tool, isSelected, toHere)}
            onEdit={(change) => onEdit(tool, change)}
          />
        )}
      />
    </>
  )
}
