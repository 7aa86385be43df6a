import { type EventType, formatDuration, type LoggedEvent, type ServerInstance } from '@sallyport/core'
import { formatLocalTime } from '../terminal/local-time.ts'
import { APPROVAL_OUTCOMES, formatConnection, formatUnwrittenRule } from './explain-call.ts'

type Details = { readonly [Type in EventType]: (event: Extract<LoggedEvent, { type: Type }>) => string }

const reasonOf = ({ reason }: { readonly reason: string }): string => reason
const messageIn = ({ message }: { readonly message: string }): string => message
const formatActor = ({ by, via }: { readonly by: string; readonly via: string }): string => `by ${by} (${via})`

/** The text of a line for each type of event. A missing type fails to compile. */
const DETAILS: Details = {
  TOOL_CALL_STARTED: ({ decided_by, would }) =>
    would ? `${WOULD_OUTCOMES[would.outcome]}: ${would.reason}` : (decided_by?.reason ?? ''),
  TOOL_CALL_COMPLETED: ({ success, latency_ms, bytes, instance }) =>
    `${success ? 'ok' : 'the tool reported an error'}, ${formatDuration(latency_ms)}, ${bytes} bytes${isolatedText(instance)}`,
  TOOL_CALL_FAILED: ({ error, latency_ms, message, instance }) =>
    `${error}, ${formatDuration(latency_ms)}${isolatedText(instance)}: ${message}`,
  CLIENT_ASKED: ({ method }) => method,
  CLIENT_ANSWERED: ({ method, success, latency_ms }) =>
    `${method}: ${success ? 'answered' : 'refused'}, ${formatDuration(latency_ms)}`,
  POLICY_DENIED: ({ error, message }) => `${error}: ${message}`,
  GATEWAY_STARTED: ({ version, pid }) => `version ${version}, pid ${pid}`,
  GATEWAY_STOPPED: reasonOf,
  UPSTREAM_CONNECTED: ({ era, took_ms }) => `${era}, ${formatDuration(took_ms)}`,
  UPSTREAM_NEEDS_LOGIN: reasonOf,
  UPSTREAM_LOST: reasonOf,
  UPSTREAM_UNHEALTHY: reasonOf,
  UPSTREAM_HEALTHY: () => '',
  UPSTREAM_DROPPED: ({ reason, count }) => `${count} messages so far: ${reason.replaceAll('_', ' ')}`,
  UPSTREAM_RESTARTED: ({ attempt, took_ms }) => `attempt ${attempt} took ${formatDuration(took_ms)}`,
  COUNTERPART_DRIFTED: ({ missing, differing }) =>
    listsText({ missing, differing }) || 'it offers the same tools again',
  SANDBOX_STARTED: ({ driver, mode, network }) =>
    `${driver}, network mode ${mode}${network === 'host' ? ', with the network of this machine' : ''}`,
  SANDBOX_OMITTED: () => 'without the sandbox that sandbox.default asks for (allow_unsandboxed)',
  SANDBOX_NARROWED: ({ from, to, cut, took_us, ended }) =>
    `${from} → ${to} in ${took_us} µs, ${ended ? 'its process was ended' : `${counted(cut, 'connection', 'connections')} ended`}`,
  SANDBOX_STOPPED: reasonOf,
  EGRESS_DECIDED: formatConnection,
  TOOLS_DISCOVERED: ({ added, removed, changed }) => listsText({ added, removed, changed }),
  CONFIG_RELOADED: ({ added, removed, restarted }) => listsText({ added, removed, restarted }),
  CONFIG_WRITTEN: ({ added, removed, changed, ...event }) =>
    `${listsText({ added, removed, changed })} ${formatActor(event)}`,
  UPSTREAM_RESTART_REQUESTED: formatActor,
  CONFIG_REJECTED: messageIn,
  PROFILES_CHANGED: ({ profiles }) => profiles.join(', '),
  TOKEN_MINTED: ({ profile, other_servers: others }) =>
    `profile ${profile}${others === undefined ? '' : `, not strict: ${others.join(', ')}`}`,
  TOKEN_REVOKED: () => '',
  CREDENTIALS_REFUSED: ({ source, kinds }) => `${kindsText(kinds)} from ${source}`,
  APPROVAL_REQUESTED: ({ reason, expires }) => `until ${formatLocalTime(expires)}: ${reason}`,
  APPROVAL_ANSWERED: ({ answer, why, unwritten, ...event }) =>
    `${APPROVAL_OUTCOMES[answer]} ${formatActor(event)}${why === undefined ? '' : `: ${why}`}${formatUnwrittenRule(unwritten)}`,
  APPROVAL_EXPIRED: reasonOf,
  SENSITIVITY_RAISED: ({ from, to, datasets, reason }) => `${from} → ${to} (${datasets.join(', ')}): ${reason}`,
  SESSION_ENDED: ({ sensitivity, purged, ...event }) =>
    `${sensitivity}${purged ? ', its data removed' : ''} ${formatActor(event)}`,
  SESSION_DATA_REMOVED: ({ files, bytes, key, reason }) =>
    `${counted(files, 'file', 'files')}, ${bytes} bytes${key ? ', and its key' : ''} (${reason})`,
  RESULT_READ: ({ handle, session, ...event }) => `${handle} of session ${session} ${formatActor(event)}`,
  MODE_CHANGED: ({ from, to, why, ...event }) => `${from} → ${to} ${formatActor(event)}: ${why}`,
  TOOLS_WRITTEN: ({ count, tools }) => `${counted(count, 'entry', 'entries')}: ${tools.join(', ')}`,
  TOOLS_EDITED: ({ entries, ...event }) => `${entries.join(', ')} ${formatActor(event)}`,
  TOOLS_FILE_RELOADED: ({ entries }) => counted(entries, 'entry', 'entries'),
  TOOLS_FILE_REJECTED: messageIn,
  PIN_CHANGED: ({ from, to, ...event }) => `${from} → ${to} ${formatActor(event)}`,
  DEFINITION_DRIFTED: ({ pin, now }) => `pinned ${pin}, now ${now}`,
  DEFINITION_SUSPICIOUS: ({ findings }) => findings.join('; '),
  FINDINGS_ACCEPTED: ({ findings, ...event }) => `${formatActor(event)}: ${findings.join('; ')}`,
  LOG_TRIMMED: ({ files, through, bytes }) =>
    `${counted(files, 'file', 'files')} up to record ${through} removed, ${bytes} bytes`,
  LOG_RESUMED: ({ unwritten }) => `${counted(unwritten, 'record', 'records')} could not be written`,
  LOG_REPAIRED: ({ dropped_bytes }) => `${dropped_bytes} bytes dropped`,
}

const isolatedText = (instance: ServerInstance | undefined): string =>
  instance === 'isolated' ? ', isolated instance' : ''

const WOULD_OUTCOMES = { ask: 'would have asked', deny: 'would have been refused' } as const

/** A newer version may have written types of events that this one does not know. */
export function formatEventDetail(event: LoggedEvent): string {
  const detail = Object.hasOwn(DETAILS, event.type) ? DETAILS[event.type] : () => ''
  return (detail as (event: LoggedEvent) => string)(event)
}

function listsText(lists: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(lists)
    .flatMap(([name, items]) => (items.length > 0 ? [`${name} ${items.join(', ')}`] : []))
    .join('; ')
}

const kindsText = (kinds: Readonly<Record<string, number>>): string =>
  Object.entries(kinds)
    .map(([kind, count]) => `${count} ${kind}`)
    .join(', ')

const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`
