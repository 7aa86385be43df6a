import { type EventType, instanceIn, isolatedName, type LoggedEvent } from '@sallyport/core'
import { formatLocalTime, formatShortTime } from '../terminal/local-time.ts'
import type { Screen } from '../terminal/screen.ts'
import { type Column, paintedLine } from '../terminal/table.ts'
import { displayWidth, type Style, truncateText, visibleLine } from '../terminal/terminal-text.ts'
import { formatEventDetail } from './event-detail.ts'

export interface EventLineOptions extends Pick<Screen, 'style' | 'width'> {
  readonly now: Date
}

/** The most important columns come first: a terminal may be too narrow for the rest. */
export const eventColumns = ({ width, now }: Omit<EventLineOptions, 'style'>): readonly Column<LoggedEvent>[] => [
  { title: 'TIME', value: ({ time }) => (width === undefined ? formatLocalTime(time) : formatShortTime(time, now)) },
  { title: 'EVENT', value: ({ type }) => type, paint: (event, style) => eventColor(event, style) },
  { title: 'SUBJECT', value: findSubject, flexible: true },
  { title: 'AGENT', value: (event) => ('agent' in event ? event.agent : '') },
  { title: 'DETAIL', value: formatDetail, flexible: true },
  { title: 'CALL', value: (event) => ('call_id' in event ? event.call_id : ''), expendable: true },
]

/** One event while following the log: the column widths are fixed, since later events are not known yet. */
export function formatEventLine(event: LoggedEvent, { style, width, now }: EventLineOptions): string {
  const columns = eventColumns({ width, now })
  const cells = columns.map(({ value }, at) => {
    const text = visibleLine(String(value(event) ?? ''))
    return `${text}${' '.repeat(Math.max(0, (FOLLOWED_WIDTHS[at] ?? 0) - displayWidth(text)))}`
  })
  return paintedLine(cells, (at) => columns[at]?.paint?.(event, style), width)
}

const FOLLOWED_WIDTHS = [8, 19, 28, 12, 0, 0]
const MAX_DETAIL = 200

function findSubject(event: LoggedEvent): string {
  if ('tool_name' in event) return event.tool_name
  if (event.type === 'COUNTERPART_DRIFTED') return isolatedName(event.server)
  if ('server' in event && event.server !== undefined) return instanceIn({ ...event, server: event.server })
  if ('token_id' in event) return event.token_id
  if ('file' in event) return event.file
  if ('session' in event) return event.session ?? ''
  return 'home' in event ? event.home : ''
}

function formatDetail(event: LoggedEvent): string {
  return truncateText(formatEventDetail(event), MAX_DETAIL)
}

const WARNING_TYPES: ReadonlySet<EventType> = new Set<EventType>([
  'TOOL_CALL_FAILED',
  'UPSTREAM_LOST',
  'UPSTREAM_UNHEALTHY',
  'UPSTREAM_NEEDS_LOGIN',
  'APPROVAL_EXPIRED',
  'MODE_CHANGED',
  'TOOLS_FILE_REJECTED',
  'COUNTERPART_DRIFTED',
  'DEFINITION_DRIFTED',
  'DEFINITION_SUSPICIOUS',
  'LOG_REPAIRED',
])

function eventColor(event: LoggedEvent, style: Style): (text: string) => string {
  if (event.type === 'POLICY_DENIED') return style.red
  if (WARNING_TYPES.has(event.type)) return style.yellow
  return event.type === 'TOOL_CALL_COMPLETED' ? (event.success ? style.green : style.yellow) : (text) => text
}
