import {
  FileCheck2,
  FileDiff,
  KeyRound,
  type LucideIcon,
  Plus,
  RefreshCw,
  SlidersHorizontal,
  Wrench,
} from 'lucide-react'
import type { EventView } from '../../../../gateway/src/serve/api/api.ts'
import { ForeignText } from '../../parts/foreign-text.tsx'
import { formatCount, formatWhen } from '../../parts/format.ts'
import { Panel } from '../../parts/page.tsx'

/** The newest first; what a person would ask about in the evening. */
export const ChangeFeed = ({ changes }: { readonly changes: readonly EventView[] }) => (
  <Panel title="Changed today">
    {changes.length === 0 && <p className="pad muted">Nothing yet.</p>}
    <ul className="feed">
      {changes.toReversed().map((event) => {
        const { icon: Icon, text } = describeChange(event)
        return (
          <li key={event.seq}>
            <time dateTime={event.time}>{formatWhen(event.time)}</time>
            <Icon aria-hidden="true" />
            <p>
              <ForeignText text={text} limit={200} />
            </p>
          </li>
        )
      })}
    </ul>
  </Panel>
)

function describeChange(event: EventView): { readonly icon: LucideIcon; readonly text: string } {
  switch (event.type) {
    case 'MODE_CHANGED':
      return {
        icon: SlidersHorizontal,
        text: `Mode ${event.from} → ${event.to} by ${event.by}${event.why ? `: “${event.why}”` : ''}`,
      }
    case 'TOOLS_DISCOVERED':
      return {
        icon: Plus,
        text: `${event.server} has ${formatCount(event.tools, 'tool')}: ${describeDifference(event)}`,
      }
    case 'DEFINITION_DRIFTED':
      return { icon: FileDiff, text: `${event.tool_name} changed at its server. Its calls are refused` }
    case 'DEFINITION_SUSPICIOUS':
      return { icon: FileDiff, text: `${event.tool_name}: ${event.findings.join(', ')}` }
    case 'PIN_CHANGED':
      return { icon: FileCheck2, text: `${event.by} accepted the new definition of ${event.tool_name}` }
    case 'PROFILES_CHANGED':
      return { icon: Wrench, text: `Profiles changed: ${event.profiles.join(', ')}` }
    case 'CONFIG_RELOADED':
      return { icon: RefreshCw, text: 'config.yaml was read again' }
    case 'CONFIG_REJECTED':
    case 'TOOLS_FILE_REJECTED':
      return { icon: FileDiff, text: event.message }
    case 'TOOLS_FILE_RELOADED':
      return { icon: FileCheck2, text: `tools.yaml was read again: ${formatCount(event.entries, 'rule')}` }
    case 'TOKEN_MINTED':
      return { icon: KeyRound, text: `A token was made for ${event.agent}.${event.profile}` }
    default:
      return { icon: FileCheck2, text: event.type.toLowerCase().replaceAll('_', ' ') }
  }
}

const describeDifference = (event: Extract<EventView, { type: 'TOOLS_DISCOVERED' }>): string =>
  (['added', 'removed', 'changed'] as const)
    .filter((kind) => event[kind].length > 0)
    .map((kind) => `${event[kind].length} ${kind}`)
    .join(', ')
