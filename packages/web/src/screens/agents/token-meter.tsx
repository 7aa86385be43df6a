import { formatNumber } from '../../parts/format.ts'

interface TokenMeterProps {
  readonly tokens: number
  readonly budget: number | undefined
  /** The tool under the pointer or the focus. */
  readonly pointed: { readonly tokens: number; readonly isSelected: boolean } | undefined
  readonly isDisabled: boolean
  readonly onBudget: (budget: number | undefined) => void
}

/** What the definitions cost in every turn, and what the pointed tool would change. */
export function TokenMeter({ tokens, budget, pointed, isDisabled, onBudget }: TokenMeterProps) {
  const delta = pointed === undefined ? 0 : pointed.isSelected ? -pointed.tokens : pointed.tokens
  const isOver = budget !== undefined && tokens > budget
  return (
    <div className="meter">
      <div className="meter-line">
        <span>
          <strong>{formatNumber(tokens)}</strong> {budget !== undefined && `of ${formatNumber(budget)} `}tokens in every
          turn
          {isOver && <span className="t-bad"> · {formatNumber(tokens - budget)} over the budget</span>}
        </span>
        <span className="muted small">
          {delta === 0
            ? 'Point at a tool to see what it would add'
            : `${delta > 0 ? '+' : '−'}${formatNumber(Math.abs(delta))} → ${formatNumber(tokens + delta)}`}
        </span>
        <label className="budget small">
          Budget
          <input
            className="input"
            type="number"
            min={1}
            step={500}
            placeholder="none"
            disabled={isDisabled}
            value={budget ?? ''}
            onChange={({ target }) => onBudget(readBudget(target.value))}
          />
        </label>
      </div>
      <MeterBar tokens={tokens} delta={delta} scale={budget ?? Math.max(tokens, tokens + delta, 1)} isOver={isOver} />
    </div>
  )
}

function readBudget(text: string): number | undefined {
  const value = Math.floor(Number(text))
  return text !== '' && Number.isSafeInteger(value) && value > 0 ? value : undefined
}

interface MeterBarProps {
  readonly tokens: number
  readonly delta: number
  readonly scale: number
  readonly isOver: boolean
}

function MeterBar({ tokens, delta, scale, isOver }: MeterBarProps) {
  const percent = (value: number): number => Math.max(0, Math.min(100, (value / scale) * 100))
  const [now, then] = [percent(tokens), percent(tokens + delta)]
  return (
    <svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">
      <rect className={isOver ? 'm-over' : 'm-now'} width={Math.min(now, then)} height="10" />
      <rect className="m-if" x={Math.min(now, then)} width={Math.abs(then - now)} height="10" />
    </svg>
  )
}
