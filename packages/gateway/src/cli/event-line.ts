import { formatDuration, type LoggedEvent } from '@sallyport/core'
import type { Column } from './table.ts'
import { displayWidth, fitText, type Style, visibleLine } from './terminal-text.ts'

/** `2026-05-01 10:00:00`, in the reader's own time zone. */
export function localTime(time: string): string {
  return new Date(time).toLocaleString('sv-SE')
}

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
  return 'home' in event ? event.home : ''
}

function detailOf(event: LoggedEvent): string {
  return fitText(detailText(event), MAX_DETAIL)
}

function detailText(event: LoggedEvent): string {
  switch (event.type) {
    case 'TOOL_CALL_STARTED':
      return event.decided_by?.reason ?? ''
    case 'TOOL_CALL_COMPLETED':
      return `${event.success ? 'ok' : 'the tool reported an error'}, ${formatDuration(event.latency_ms)}, ${event.bytes} bytes`
    case 'CLIENT_ASKED':
      return event.method
    case 'CLIENT_ANSWERED':
      return `${event.method}: ${event.success ? 'answered' : 'refused'}, ${formatDuration(event.latency_ms)}`
    case 'TOOL_CALL_FAILED':
      return `${event.error}, ${formatDuration(event.latency_ms)}: ${event.message}`
    case 'POLICY_DENIED':
      return `${event.error}: ${event.message}`
    case 'GATEWAY_STARTED':
      return `version ${event.version}, pid ${event.pid}`
    case 'UPSTREAM_CONNECTED':
      return `${event.era}, ${formatDuration(event.took_ms)}`
    case 'UPSTREAM_RESTARTED':
      return `attempt ${event.attempt} took ${formatDuration(event.took_ms)}`
    case 'TOOLS_DISCOVERED':
    case 'CONFIG_RELOADED':
      return changes(event)
    case 'MODE_CHANGED':
      return `${event.from} → ${event.to} by ${event.by} (${event.via})${event.why && `: ${event.why}`}`
    case 'TOKEN_MINTED':
      return `profile ${event.profile}`
    case 'LOG_REPAIRED':
      return `${event.file}: ${event.dropped_bytes} bytes dropped`
    case 'UPSTREAM_LOST':
    case 'UPSTREAM_NEEDS_LOGIN':
    case 'GATEWAY_STOPPED':
      return event.reason
    case 'CONFIG_REJECTED':
      return event.message
    default:
      return ''
  }
}

function changes(event: LoggedEvent): string {
  const lists = ['added', 'removed', 'changed', 'restarted'] as const
  const fields = event as Partial<Record<(typeof lists)[number], readonly string[]>>
  return lists.flatMap((list) => (fields[list]?.length ? [`${list} ${fields[list].join(', ')}`] : [])).join('; ')
}

function eventColour(event: LoggedEvent, style: Style): (text: string) => string {
  if (event.type === 'POLICY_DENIED') return style.red
  if (event.type === 'TOOL_CALL_FAILED' || event.type === 'UPSTREAM_LOST' || event.type === 'UPSTREAM_NEEDS_LOGIN')
    return style.yellow
  return event.type === 'TOOL_CALL_COMPLETED' ? (event.success ? style.green : style.yellow) : (text) => text
}
