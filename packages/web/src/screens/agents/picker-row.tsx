import { ChevronRight, X } from 'lucide-react'
import { ForeignName, ForeignText } from '../../parts/foreign-text.tsx'
import { formatAgo, formatNumber, formatWhen } from '../../parts/format.ts'
import { toVisibleText } from '../../parts/reveal-text.ts'
import { PermissionSign, RiskSign } from '../../parts/signs.tsx'
import type { Row } from './picker-rows.ts'
import {
  extentOf,
  isToolSelected,
  removeStale,
  type ToolSelection,
  toggleServer,
  toggleTool,
} from './tool-selection.ts'

interface PickerRowProps {
  readonly row: Row
  readonly selection: ToolSelection
  readonly uses: ReadonlyMap<string, number> | undefined
  readonly isDisabled: boolean
  readonly isFolded: boolean
  readonly onFold: (server: string) => void
  readonly onChange: (selection: ToolSelection) => void
  readonly onPoint: (tool: { readonly tokens: number; readonly isSelected: boolean } | undefined) => void
}

export function PickerRow(props: PickerRowProps) {
  const { row } = props
  if (row.kind === 'server') return <ServerRow {...props} row={row} />
  return row.kind === 'tool' ? <ToolRow {...props} row={row} /> : <StaleRow {...props} row={row} />
}

type RowProps<Kind extends Row['kind']> = PickerRowProps & { readonly row: Extract<Row, { readonly kind: Kind }> }

function ServerRow({ row: { server, shown }, selection, isDisabled, isFolded, onFold, onChange }: RowProps<'server'>) {
  const extent = extentOf(selection, server.id, shown)
  const count = server.tools.filter(({ tool }) => isToolSelected(selection, server.id, tool)).length
  const isWhole = selection.servers.get(server.id) === 'whole'
  return (
    <div className="grp">
      <label className="hit">
        <input
          className="check"
          type="checkbox"
          aria-label={`All tools of ${server.id}`}
          checked={extent === 'all'}
          disabled={isDisabled}
          ref={(box) => {
            if (box) box.indeterminate = extent === 'some'
          }}
          onChange={() => onChange(toggleServer(selection, server, shown))}
        />
      </label>
      <span className="name">
        <button
          className="grp-fold"
          type="button"
          aria-expanded={!isFolded}
          aria-label={`${isFolded ? 'Show' : 'Hide'} the tools of ${server.id}`}
          onClick={() => onFold(server.id)}
        >
          <ChevronRight className="i i-s" aria-hidden="true" />
        </button>
        <b className="cut">
          <ForeignText text={server.id} limit={100} />
        </b>
      </span>
      <span className="meta">
        <b>
          {formatNumber(count)} of {formatNumber(server.tools.length)}
        </b>
        {isWhole && <span className="long"> · and tools it adds later</span>}
      </span>
    </div>
  )
}

function ToolRow({ row: { server, tool }, selection, uses, isDisabled, onChange, onPoint }: RowProps<'tool'>) {
  const isSelected = isToolSelected(selection, server.id, tool.tool)
  const point = {
    onMouseEnter: () => onPoint({ tokens: tool.tokens, isSelected }),
    onMouseLeave: () => onPoint(undefined),
  }
  return (
    <label className="tool" {...point}>
      <input
        className="check"
        type="checkbox"
        aria-label={toVisibleText(`${server.id}/${tool.tool}`)}
        checked={isSelected}
        disabled={isDisabled}
        onFocus={() => onPoint({ tokens: tool.tokens, isSelected })}
        onBlur={() => onPoint(undefined)}
        onChange={() => onChange(toggleTool(selection, server, tool.tool))}
      />
      <span className="what">
        <ForeignName name={tool.tool} />
        <span className="cut">
          {tool.selected && !tool.offered && <span className="tag">withheld by rules</span>}{' '}
          <ForeignText text={firstLine(tool.description ?? tool.title ?? '')} />
        </span>
        <span className="phone-meta">
          <RiskSign risk={tool.risk} />
          <LastUse time={uses?.get(tool.canonical)} isKnown={uses !== undefined} />
        </span>
      </span>
      <PermissionSign permission={tool.permission} />
      <RiskSign risk={tool.risk} />
      <span className="cost">{formatNumber(tool.tokens)}</span>
      <LastUse time={uses?.get(tool.canonical)} isKnown={uses !== undefined} />
    </label>
  )
}

function LastUse({ time, isKnown }: { readonly time: number | undefined; readonly isKnown: boolean }) {
  if (!isKnown) return <span className="used" />
  if (time === undefined)
    return (
      <span className="used" title="Not in the stored records">
        never
      </span>
    )
  return (
    <time className="used" dateTime={new Date(time).toISOString()} title={formatWhen(time)}>
      {formatAgo(Date.now() - time)}
    </time>
  )
}

const MAX_LINE = 300

const firstLine = (text: string): string => text.trim().split('\n', 1)[0]?.slice(0, MAX_LINE) ?? ''

function StaleRow({ row: { selector }, selection, isDisabled, onChange }: RowProps<'stale'>) {
  return (
    <div className="tool stale">
      <button
        className="grp-fold stale-remove"
        type="button"
        disabled={isDisabled}
        aria-label={toVisibleText(`Remove ${selector}`)}
        onClick={() => onChange(removeStale(selection, selector))}
      >
        <X className="i i-s" aria-hidden="true" />
      </button>
      <span className="what">
        <s>
          <ForeignName name={selector} />
        </s>
        <span className="cut">matches no tool that is known now</span>
      </span>
    </div>
  )
}
