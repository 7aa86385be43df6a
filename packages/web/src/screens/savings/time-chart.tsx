import { useEffect, useRef, useState } from 'react'
import { formatNumber, formatShort } from '../../parts/format.ts'
import { Panel } from '../../parts/page.tsx'
import type { Bucket, Range } from './buckets.ts'
import { drawChart } from './draw-chart.ts'

interface TimeChartProps {
  readonly buckets: readonly Bucket[]
  readonly range: Range
}

const SERIES = [
  ['k1', 'shaping'],
  ['k2', 'selection'],
  ['k3', 'context isolation'],
] as const

/** A bar for each day or hour; the same numbers are in a table below it. */
export function TimeChart({ buckets, range }: TimeChartProps) {
  const [pointed, setPointed] = useState<number>()
  const holder = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (holder.current === null) return
    return drawChart(holder.current, buckets, setPointed)
  }, [buckets])
  const shown = pointed === undefined ? undefined : buckets[pointed]
  const unit = range.unit === 'day' ? 'day' : 'hour'
  return (
    <Panel
      title={`Per ${unit}`}
      sub={<span aria-hidden="true">{shown && describe(shown)}</span>}
      actions={
        <span className="chart-keys">
          {SERIES.map(([key, name]) => (
            <span key={key} className="chart-key">
              <svg viewBox="0 0 12 12" aria-hidden="true">
                <rect className={key} width="12" height="12" />
                {key === 'k2' && <path className="hatch" d="M-1 9 9-1M3 13 13 3" />}
              </svg>
              {name}
            </span>
          ))}
        </span>
      }
    >
      <div className="pad">
        <div
          ref={holder}
          className="chart"
          role="img"
          aria-label={`Tokens kept out of contexts per ${unit}; see the table`}
        />
        <details className="chart-table">
          <summary>The same as a table</summary>
          <div className="scroll-x">
            <table className="table compact">
              <thead>
                <tr>
                  <th scope="col">{range.unit === 'day' ? 'Day' : 'Hour'}</th>
                  {SERIES.map(([key, name]) => (
                    <th key={key} scope="col" className="num">
                      {name}
                    </th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {buckets.map(({ label, shaped, selected, isolated }) => (
                  <tr key={label}>
                    <td>{label}</td>
                    <td className="num">{formatNumber(shaped)}</td>
                    <td className="num">{formatNumber(selected)}</td>
                    <td className="num">{formatNumber(isolated)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </details>
      </div>
    </Panel>
  )
}

const describe = ({ label, shaped, selected, isolated }: Bucket): string =>
  `${label}: ${formatShort(shaped + selected + isolated)} · shaping ${formatShort(shaped)}, selection ${formatShort(selected)}, isolation ${formatShort(isolated)}`
