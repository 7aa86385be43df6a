import type { EventView } from '../../gateway/src/serve/api/api.ts'
import { createElement } from './element.ts'

/** What matters of an event, in the order in which it is shown. Names are those of the record. */
const SHOWN_FIELDS = ['tool_name', 'server', 'agent', 'reason', 'error', 'message', 'latency_ms', 'call_id'] as const

const ERROR_TYPES = new Set([
  'TOOL_CALL_FAILED',
  'POLICY_DENIED',
  'UPSTREAM_LOST',
  'UPSTREAM_UNHEALTHY',
  'UPSTREAM_NEEDS_LOGIN',
  'CONFIG_REJECTED',
  'CREDENTIALS_REFUSED',
])

export function createEventLine(event: EventView): HTMLElement {
  const fields: Readonly<Record<string, unknown>> = event
  const said = SHOWN_FIELDS.filter((field) => fields[field] !== undefined)
    .map((field) => (field === 'latency_ms' ? `${fields[field]} ms` : String(fields[field])))
    .join(' · ')
  const time = createElement('time', { text: new Date(event.time).toLocaleTimeString() })
  time.dateTime = event.time
  const type = createElement('span', { className: 'type', text: event.type.toLowerCase().replaceAll('_', ' ') })
  const what = createElement('span', { className: 'what', text: said })
  return createElement('li', { className: ERROR_TYPES.has(event.type) ? 'bad' : '', children: [time, type, what] })
}
