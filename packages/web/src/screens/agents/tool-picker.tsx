import { useVirtualizer } from '@tanstack/react-virtual'
import { Search } from 'lucide-react'
import { type KeyboardEvent, useEffect, useRef, useState } from 'react'
import { formatNumber } from '../../parts/format.ts'
import { Note } from '../../parts/states.tsx'
import { useIsPhone } from '../../parts/use-is-phone.ts'
import { useShortcuts } from '../../shell/shortcuts.ts'
import type { AgentServer } from './agents-queries.ts'
import { PickerRow } from './picker-row.tsx'
import { listRows, type Row, rowKey } from './picker-rows.ts'
import { isUnset, setNone, sumAll, sumSelected, type ToolSelection } from './tool-selection.ts'

interface ToolPickerProps {
  /** Of the agent. */
  readonly title: string
  readonly servers: readonly AgentServer[]
  readonly selection: ToolSelection
  readonly isDisabled: boolean
  readonly onChange: (selection: ToolSelection) => void
  readonly onPoint: (tool: { readonly tokens: number; readonly isSelected: boolean } | undefined) => void
}

/** Servers and their tools with a box each. */
export function ToolPicker(props: ToolPickerProps) {
  const { title, servers, selection, isDisabled, onChange } = props
  const [search, setSearch] = useState('')
  const field = useRef<HTMLInputElement>(null)
  useShortcuts([{ keys: '/', title: 'Search the tools', run: () => field.current?.focus() }])
  const [sum, all] = [sumSelected(selection, servers), sumAll(servers)]
  return (
    <>
      <div className="picker-bar">
        <div className="input-icon">
          <Search className="i" aria-hidden="true" />
          <input
            ref={field}
            className="input"
            type="search"
            aria-label="Search tools"
            placeholder="Search by server, tool or description"
            value={search}
            onChange={({ target }) => setSearch(target.value)}
          />
        </div>
        <label className="switch">
          <input
            type="checkbox"
            role="switch"
            aria-checked={selection.isNone}
            checked={selection.isNone}
            disabled={isDisabled}
            onChange={({ target }) => onChange(setNone(target.checked))}
          />{' '}
          No MCP tools
        </label>
      </div>
      <div className="picker-sum">
        <strong role="status">
          {formatNumber(sum.tools)} of {formatNumber(all.tools)} tools selected
        </strong>
        <button
          className="btn btn-ghost btn-s"
          type="button"
          disabled={isDisabled || (sum.tools === 0 && selection.servers.size === 0 && selection.stale.length === 0)}
          onClick={() => onChange(setNone(false))}
        >
          Clear All
        </button>
        <span className="grow" />
        <span className="small faint phone-hide">
          <kbd>↑</kbd> <kbd>↓</kbd> move <kbd>space</kbd> select <kbd>/</kbd> search
        </span>
      </div>
      <PickerNote title={title} selection={selection} selected={sum.tools} />
      {selection.isNone || <RowList {...props} search={search} />}
    </>
  )
}

interface PickerNoteProps {
  readonly title: string
  readonly selection: ToolSelection
  readonly selected: number
}

function PickerNote({ title, selection, selected }: PickerNoteProps) {
  if (selection.isNone)
    return (
      <div className="pad">
        <Note>This agent gets no MCP tools: profiles.json has an empty list.</Note>
      </div>
    )
  if (isUnset(selection))
    return (
      <div className="note-flush">
        <Note kind="info">No tools selected: this agent will use all available MCP tools for {title}</Note>
      </div>
    )
  if (selected === 0 && selection.stale.length > 0)
    return (
      <div className="note-flush">
        <Note kind="ask">Nothing of the selection exists now, so this agent gets no tool.</Note>
      </div>
    )
  return null
}

const ROW_HEIGHT = 36
const PHONE_ROW_HEIGHT = 56

function RowList(props: ToolPickerProps & { readonly search: string }) {
  const { servers, selection, search } = props
  const [folded, setFolded] = useState<ReadonlySet<string>>(new Set())
  const rows = listRows({ servers, stale: selection.stale, search, folded })
  const scroller = useRef<HTMLDivElement>(null)
  const pending = useRef<number>(undefined)
  const rowHeight = useIsPhone() ? PHONE_ROW_HEIGHT : ROW_HEIGHT
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => rowKey(rows[index] as Row),
    overscan: 12,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height of all rows has changed.
  useEffect(() => virtual.measure(), [virtual, rowHeight])
  // A row that the keys have moved to may only exist after the list has scrolled.
  useEffect(() => {
    if (pending.current !== undefined && focusRow(scroller.current, pending.current)) pending.current = undefined
  })
  const moveTo = (index: number): void => {
    pending.current = focusRow(scroller.current, index) ? undefined : index
    virtual.scrollToIndex(index)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key]
    const from = rowIndexOf(event.target)
    if (step === undefined || from === undefined) return
    event.preventDefault()
    moveTo(Math.max(0, Math.min(rows.length - 1, (pending.current ?? from) + step)))
  }
  const fold = (server: string): void => {
    const next = new Set(folded)
    if (!next.delete(server)) next.add(server)
    setFolded(next)
  }
  if (rows.length === 0)
    return (
      <p className="pad muted" role="status">
        {search === '' ? 'No server offers a tool yet.' : `No server, tool or description contains “${search}”.`}
      </p>
    )
  return (
    <>
      <div className="colhead" aria-hidden="true">
        <span />
        <span>Tool</span>
        <span>May</span>
        <span>Risk</span>
        <span className="num">Tokens</span>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset cannot scroll in every browser. */}
      <div ref={scroller} className="picker-list" role="group" aria-label="Tools by server" onKeyDown={onKeyDown}>
        <div className="virtual" style={{ height: virtual.getTotalSize() }}>
          {virtual.getVirtualItems().map(({ key, index, start }) => (
            <div
              key={key}
              className="virtual-row"
              data-index={index}
              style={{ height: rowHeight, transform: `translateY(${start}px)` }}
            >
              <PickerRow row={rows[index] as Row} {...props} isFolded={isFolded(rows[index], folded)} onFold={fold} />
            </div>
          ))}
        </div>
      </div>
    </>
  )
}

const isFolded = (row: Row | undefined, folded: ReadonlySet<string>): boolean =>
  row?.kind === 'server' && folded.has(row.server.id)

function focusRow(list: HTMLElement | null, index: number): boolean {
  const field = list?.querySelector<HTMLElement>(`[data-index="${index}"] :is(input, .stale-remove)`)
  field?.focus()
  return field != null
}

function rowIndexOf(target: EventTarget): number | undefined {
  const row = target instanceof HTMLElement ? target.closest<HTMLElement>('[data-index]') : null
  return row === null ? undefined : Number(row.dataset.index)
}
