import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, type ReactNode, type RefObject, useEffect, useRef } from 'react'

interface VirtualRowsProps<Row> {
  readonly rows: readonly Row[]
  readonly rowHeight: number
  readonly keyOf: (row: Row) => string
  readonly label: string
  readonly renderRow: (row: Row, index: number) => ReactNode
  readonly className?: string
  /** A selector: up and down move the focus from this field of a row to that of another one. */
  readonly focusField?: string
}

/** A list of any length in which only the visible rows exist. All rows have one height. */
export function VirtualRows<Row>(props: VirtualRowsProps<Row>) {
  const { rows, rowHeight, keyOf, label, renderRow, className = '', focusField } = props
  const scroller = useRef<HTMLElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => keyOf(rows[index] as Row),
    overscan: 12,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the height of all rows has changed.
  useEffect(() => virtual.measure(), [virtual, rowHeight])
  const onKeyDown = useRowKeys({ scroller, field: focusField, count: rows.length, scrollTo: virtual.scrollToIndex })
  return (
    <section
      ref={scroller}
      className={`virtual-scroll ${className}`}
      aria-label={label}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard.
      tabIndex={0}
      onKeyDown={onKeyDown}
    >
      <ul className="virtual" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ key, index, start }) => (
          <li
            key={key}
            data-index={index}
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

interface RowKeys {
  readonly scroller: RefObject<HTMLElement | null>
  readonly field: string | undefined
  readonly count: number
  readonly scrollTo: (index: number) => void
}

/** Moves the focus from row to row. A row that the keys have moved to may only exist after the list has scrolled. */
function useRowKeys({ scroller, field, count, scrollTo }: RowKeys) {
  const pending = useRef<number>(undefined)
  const focus = (index: number): boolean => {
    const found = scroller.current?.querySelector<HTMLElement>(`[data-index="${index}"] ${field}`)
    found?.focus()
    return found != null
  }
  useEffect(() => {
    if (pending.current !== undefined && focus(pending.current)) pending.current = undefined
  })
  return (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 }[event.key]
    const { target } = event
    if (step === undefined || field === undefined || !(target instanceof HTMLElement) || !target.matches(field)) return
    event.preventDefault()
    const from = pending.current ?? Number(target.closest<HTMLElement>('[data-index]')?.dataset.index)
    const to = Math.max(0, Math.min(count - 1, from + step))
    pending.current = focus(to) ? undefined : to
    scrollTo(to)
  }
}
