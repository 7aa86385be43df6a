import { Search } from 'lucide-react'
import { useRef, useState } from 'react'
import { useSearchParams } from 'react-router'
import type { RuledTool } from '../../../../gateway/src/serve/api/api.ts'
import { formatCount, formatNumber } from '../../parts/format.ts'
import { Empty } from '../../parts/states.tsx'
import { useIsPhone } from '../../parts/use-is-phone.ts'
import { VirtualRows } from '../../parts/virtual-rows.tsx'
import { useMay } from '../../shell/roles.ts'
import { useShortcuts } from '../../shell/shortcuts.ts'
import { replaceEdits, type RuleEdit, setEdit, useRuleEdits } from './rule-edits.ts'
import { RULE_CHOICES } from './rule-fields.tsx'
import { RuleRow } from './rule-row.tsx'
import { filterRules, readFilter } from './rules.ts'

const ROW_HEIGHT = 46
const PHONE_ROW_HEIGHT = 118

/** All tools with their rules. The filters are in the address. */
export function RuleTable({ tools }: { readonly tools: readonly RuledTool[] }) {
  const [search] = useSearchParams()
  const edits = useRuleEdits()
  const mayEdit = useMay('operator')
  const [selected, select] = useState<ReadonlySet<string>>(new Set())
  const last = useRef<string>(undefined)
  const isPhone = useIsPhone()
  const shown = filterRules(tools, readFilter(search))
  const edit = (of: readonly RuledTool[], change: RuleEdit): void => replaceEdits(setEdit(edits, of, change))
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
        onEdit={(change) => edit(tools.filter(({ canonical }) => selected.has(canonical)), change)}
      />
      <div className="rule rule-head" aria-hidden="true">
        <span />
        <span>Tool</span>
        {RULE_CHOICES.map(({ field, title }) => (
          <span key={field}>{title}</span>
        ))}
        <span>It claims</span>
        <span>Definition</span>
      </div>
      {shown.length === 0 ? (
        <p className="pad muted" role="status">
          No tool matches these filters.
        </p>
      ) : (
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
              onSelect={(isSelected, toHere) => markRow(tool, isSelected, toHere)}
              onEdit={(change) => edit([tool], change)}
            />
          )}
        />
      )}
    </section>
  )
}

const FILTERS = [
  { name: 'risk', title: 'Risk', options: ['high', 'medium', 'low'] },
  { name: 'approval', title: 'Approval', options: ['asks', 'never'] },
  { name: 'from', title: 'Source', options: ['entry', 'pattern', 'server', 'inferred'] },
] as const

function FilterBar({ tools }: { readonly tools: readonly RuledTool[] }) {
  const [search, setSearch] = useSearchParams()
  const field = useRef<HTMLInputElement>(null)
  useShortcuts([{ keys: '/', title: 'Filter the tools', run: () => field.current?.focus() }])
  const set = (name: string, value: string): void =>
    setSearch(
      (before) => {
        const next = new URLSearchParams(before)
        if (value === '') next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true },
    )
  const servers = [...new Set(tools.map(({ server }) => server))].sort()
  const filters = [{ name: 'server', title: 'Server', options: servers }, ...FILTERS]
  return (
    <div className="rule-filters">
      <div className="input-icon">
        <Search className="i" aria-hidden="true" />
        <input
          ref={field}
          className="input"
          type="search"
          aria-label="Filter by name"
          placeholder="Filter by server and tool"
          value={search.get('q') ?? ''}
          onChange={({ target }) => set('q', target.value)}
        />
      </div>
      {filters.map(({ name, title, options }) => (
        <select
          key={name}
          className={`input filter ${search.has(name) ? 'is-set' : ''}`}
          aria-label={title}
          value={search.get(name) ?? ''}
          onChange={({ target }) => set(name, target.value)}
        >
          <option value="">{title}: any</option>
          {options.map((option) => (
            <option key={option} value={option}>
              {title}: {option}
            </option>
          ))}
        </select>
      ))}
    </div>
  )
}

interface SelectionBarProps {
  readonly tools: readonly RuledTool[]
  readonly shown: readonly RuledTool[]
  readonly selected: ReadonlySet<string>
  readonly onMark: (tools: readonly RuledTool[], isSelected: boolean) => void
  readonly onEdit: (edit: RuleEdit) => void
}

/** How many are shown; for the selected ones, what can be set of all of them at once. */
function SelectionBar({ tools, shown, selected, onMark, onEdit }: SelectionBarProps) {
  const mayEdit = useMay('operator')
  const count = shown.filter(({ canonical }) => selected.has(canonical)).length
  return (
    <div className={`rule-bar ${selected.size > 0 ? 'is-selecting' : ''}`}>
      {mayEdit && (
        <label className="hit">
          <input
            className="check"
            type="checkbox"
            aria-label={`Select all ${formatCount(shown.length, 'shown tool')}`}
            checked={count > 0 && count === shown.length}
            ref={(box) => {
              if (box) box.indeterminate = count > 0 && count < shown.length
            }}
            onChange={({ target }) => onMark(shown, target.checked)}
          />
        </label>
      )}
      <strong role="status">
        {selected.size > 0
          ? `${formatNumber(selected.size)} selected`
          : shown.length === tools.length
            ? formatCount(tools.length, 'tool')
            : `${formatNumber(shown.length)} of ${formatCount(tools.length, 'tool')}`}
      </strong>
      {selected.size > 0 && (
        <>
          {RULE_CHOICES.map(({ field, title, options }) => (
            <select
              key={field}
              className="input filter"
              aria-label={`Set ${title.toLowerCase()} of the selected tools`}
              value=""
              onChange={({ target }) => {
                const chosen = options.find(({ value }) => value === target.value)
                if (chosen) onEdit(chosen.edit)
              }}
            >
              <option value="">{title}…</option>
              {options.map(({ value, text }) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          ))}
          <button className="btn btn-ghost btn-s" type="button" onClick={() => onMark(tools, false)}>
            Clear selection
          </button>
        </>
      )}
    </div>
  )
}
