import type { EventType, LoggedEvent } from '@sallyport/core'
import { eventDetail } from './event-detail.ts'
import { localTime } from './local-time.ts'
import type { Column } from './table.ts'
import { displayWidth, fitText, type Style, visibleLine } from './terminal-text.ts'

export const EVENT_COLUMNS: readonly Column<LoggedEvent>[] = [
  { title: 'TIME', value: ({ time }) => localTime(time) },
  { title: 'EVENT', value: ({ type }) => type, paint: (event, style) => eventColour(event, style) },
  { title: 'AGENT', value: (event) => ('agent' in event ? event.agent : '') },
  { title: 'SUBJECT', value: subjectOf },
  { title: 'DETAIL', value: detailOf, flexible: true },
  { title: 'CALL', value: (event) => ('call_id' in event ? event.call_id : '') },
]

/** What one sees of an event while following: columns that do not know what is still to come. */
export function eventLine(event: LoggedEvent, style: Style): string {
  const cells = EVENT_COLUMNS.map(({ value, paint }, at) => {
    const text = visibleLine(String(value(event) ?? ''))
    const room = FOLLOWED_WIDTHS[at] ?? 0
    const padded = `${text}${' '.repeat(Math.max(0, room - displayWidth(text)))}`
    return paint ? paint(event, style)(padded) : padded
  })
  return `${cells.join('  ').trimEnd()}\n`
}

const FOLLOWED_WIDTHS = [19, 19, 12, 28, 0, 0]
const MAX_DETAIL = 200

function subjectOf(event: LoggedEvent): string {
  if ('tool_name' in event) return event.tool_name
  if ('server' in event) return event.server
  if ('token_id' in event) return event.token_id
  if ('file' in event) return event.file
  return 'home' in event ? event.home : ''
}

function detailOf(event: LoggedEvent): string {
  return fitText(eventDetail(event), MAX_DETAIL)
}

const ALARMING: ReadonlySet<EventType> = new Set<EventType>([
  'TOOL_CALL_FAILED',
  'UPSTREAM_LOST',
  'UPSTREAM_NEEDS_LOGIN',
  'APPROVAL_EXPIRED',
  'MODE_CHANGED',
  'TOOLS_FILE_REJECTED',
  'DEFINITION_DRIFTED',
  'LOG_REPAIRED',
])

function eventColour(event: LoggedEvent, style: Style): (text: string) => string {
  if (event.type === 'POLICY_DENIED') return style.red
  if (ALARMING.has(event.type)) return style.yellow
  return event.type === 'TOOL_CALL_COMPLETED' ? (event.success ? style.green : style.yellow) : (text) => text
}
