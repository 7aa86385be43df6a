import type { SavingsHistory } from '../../../../gateway/src/serve/api/api.ts'

export interface Range {
  readonly id: string
  readonly title: string
  readonly days: number
  /** What one bar of the chart is. */
  readonly unit: 'hour' | 'day'
}

export const RANGES = [
  { id: 'today', title: 'Today', days: 1, unit: 'hour' },
  { id: '14d', title: '14 days', days: 14, unit: 'day' },
  { id: '30d', title: '30 days', days: 30, unit: 'day' },
] as const satisfies readonly Range[]

/** One bar: an hour or a day of the reader's clock. */
export interface Bucket {
  readonly label: string
  readonly shaped: number
  readonly isolated: number
  readonly selected: number
}

/** The midnight with which the range begins. */
export function findStart({ days }: Range, now: Date): Date {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - days + 1)
}

/** A bar for every hour or day of the range, also for those without calls. */
export function buildBuckets(hours: SavingsHistory['hours'], { days, unit }: Range, start: Date): readonly Bucket[] {
  const starts =
    unit === 'hour'
      ? Array.from({ length: 24 }, (_, hour) => addTime(start, 0, hour))
      : Array.from({ length: days }, (_, day) => addTime(start, day, 0))
  const end = addTime(start, days, 0)
  return starts.map((from, index) => {
    const to = starts[index + 1] ?? end
    // Where hours begin at half past, one of UTC belongs to the bar in which it begins.
    const own = hours.filter(({ time }) => time >= from.toISOString() && time < to.toISOString())
    const sum = (name: 'shaped' | 'isolated' | 'selected'): number => own.reduce((all, hour) => all + hour[name], 0)
    return {
      label: formatStart(from, unit),
      shaped: sum('shaped'),
      isolated: sum('isolated'),
      selected: sum('selected'),
    }
  })
}

/** By the calendar: a day with a change of the clock has 23 or 25 hours. */
const addTime = (start: Date, days: number, hours: number): Date =>
  new Date(start.getFullYear(), start.getMonth(), start.getDate() + days, hours)

const formatStart = (start: Date, unit: Range['unit']): string =>
  unit === 'hour'
    ? `${String(start.getHours()).padStart(2, '0')}:00`
    : start.toLocaleDateString('en', { day: 'numeric', month: 'short' })
