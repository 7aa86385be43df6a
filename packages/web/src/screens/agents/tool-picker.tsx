import { useState } from 'react'
import { formatNumber } from '../../parts/format.ts'
import { SearchField } from '../../parts/search-field.tsx'
import { Note } from '../../parts/states.tsx'
import { useIsPhone } from '../../parts/use-is-phone.ts'
import { VirtualRows } from '../../parts/virtual-rows.tsx'
import type { AgentServer } from './agents-queries.ts'
import { PickerRow } from './picker-row.tsx'
import { listRows, type Row, rowKey } from './picker-rows.ts'
import { isUnset, setNone, sumAll, sumSelected, type ToolSelection } from './tool-selection.ts'

interface ToolPickerProps {
  /** Of the agent. */
  readonly title: string
  readonly servers: readonly AgentServer[]
  readonly selection: ToolSelection
  /** When the agent last called each tool; `undefined`: not known. */
  readonly uses: ReadonlyMap<string, number> | undefined
  readonly isDisabled: boolean
  readonly onChange: (selection: ToolSelection) => void
  readonly onPoint: (tool: { readonly tokens: number; readonly isSelected: boolean } | undefined) => void
}

/** Servers and their tools with a box each. */
export function ToolPicker(props: ToolPickerProps) {
  const { title, servers, selection, isDisabled, onChange } = props
  const [search, setSearch] = useState('')
  const [sum, all] = [sumSelected(selection, servers), sumAll(servers)]
  return (
    <>
      <div className="picker-bar">
        <SearchField
          label="Search tools"
          placeholder="Search by server, tool or description"
          value={search}
          onChange={setSearch}
        />
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
  const rowHeight = useIsPhone() ? PHONE_ROW_HEIGHT : ROW_HEIGHT
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
        <span className="num">Last use</span>
      </div>
      <VirtualRows
        className="picker-list"
        rows={rows}
        rowHeight={rowHeight}
        keyOf={rowKey}
        focusField=":is(input, .stale-remove)"
        label="Tools by server"
        renderRow={(row) => <PickerRow row={row} {...props} isFolded={isFolded(row, folded)} onFold={fold} />}
      />
    </>
  )
}

const isFolded = (row: Row, folded: ReadonlySet<string>): boolean => row.kind === 'server' && folded.has(row.server.id)
