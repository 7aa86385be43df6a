import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useRef } from 'react'

interface VirtualRowsProps<Row> {
  readonly rows: readonly Row[]
  readonly rowHeight: number
  readonly keyOf: (row: Row) => string
  readonly label: string
  readonly renderRow: (row: Row, index: number) => ReactNode
  readonly className?: string
}

/** A list of any length in which only the visible rows exist. All rows have one height. */
export function VirtualRows<Row>({ rows, rowHeight, keyOf, label, renderRow, className = '' }: VirtualRowsProps<Row>) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => keyOf(rows[index] as Row),
    overscan: 12,
  })
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard.
    <section ref={scroller} className={`virtual-scroll ${className}`} aria-label={label} tabIndex={0}>
      <ul className="virtual" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ key, index, start }) => (
          <li
            key={key}
            aria-setsize={rows.length}
            aria-posinset={index + 1}
            className="virtual-row"
            style={{ height: rowHeight, transform: `translateY(${start}px)` }}
          >
            {renderRow(rows[index] as Row, index)}
          </li>
        ))}
      </ul>
    </section>
  )
}
