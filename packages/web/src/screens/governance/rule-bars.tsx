import { useEffect, useRef, useState } from 'react'
import { useSearchParams } from 'react-router'
import type { RuledTool } from '../../../../gateway/src/serve/api/api.ts'
import { formatCount, formatNumber } from '../../parts/format.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { useMay } from '../../shell/roles.ts'
import type { RuleEdit } from './rule-edits.ts'
import { RULE_CHOICES } from './rule-fields.tsx'

const FILTERS = [
  { name: 'risk', title: 'Risk', options: ['high', 'medium', 'low'] },
  { name: 'approval', title: 'Approval', options: ['asks', 'never'] },
  { name: 'from', title: 'Source', options: ['entry', 'pattern', 'server', 'inferred'] },
] as const

/** What is shown: each filter is a parameter of the address. */
export function FilterBar({ tools }: { readonly tools: readonly RuledTool[] }) {
  const [search, setSearch] = useSearchParams()
  const field = useRef<HTMLDivElement>(null)
  const written = search.get('q') ?? ''
  const [text, setText] = useState(written)
  // The address follows the field a moment later, so it may say something else only while nobody types.
  useEffect(() => {
    if (!field.current?.contains(document.activeElement)) setText(written)
  }, [written])
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
      <div ref={field} className="grow">
        <SearchField
          label="Filter by name"
          placeholder="Filter by server and tool"
          value={text}
          onChange={(value) => {
            setText(value)
            set('q', value)
          }}
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
export function SelectionBar({ tools, shown, selected, onMark, onEdit }: SelectionBarProps) {
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
