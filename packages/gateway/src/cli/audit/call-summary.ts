import { canonicalName, formatDuration } from '@sallyport/core'
import { formatLocalTime } from '../terminal/local-time.ts'
import { visibleLine } from '../terminal/terminal-text.ts'
import { type CallEndEvent, type CallHistory, millisecondsBetween } from './call-history.ts'

/** The outcome of a call, in one word. */
export type CallStatus = 'Allowed' | 'Refused' | 'Cancelled' | 'Waiting' | 'Failed'

export function getCallStatus({ decided, asked, answered, expired }: CallHistory): CallStatus {
  if (decided?.type === 'POLICY_DENIED') return decided.error === 'CALL_CANCELLED' ? 'Cancelled' : 'Refused'
  if (decided !== undefined) return 'Allowed'
  // The gateway was killed while the call waited, so it could not refuse it. The next gateway could only record its
  // end.
  if (expired) return 'Refused'
  return asked && !answered ? 'Waiting' : 'Failed'
}

/** The whole call in one sentence, for a reader who stops there. */
export function formatCallSummary(history: CallHistory): string {
  const { first, decided } = history
  const who = visibleLine(`${first.agent} (${first.user})`)
  const about = `${formatSubject(first)} by ${who} at ${formatLocalTime(first.time)}`
  const status = getCallStatus(history)
  const details = DESCRIPTIONS[status](history)
  const wouldHave = decided?.would ? ` ${WOULD_SENTENCES[decided.would.outcome]}` : ''
  return `${status}: ${[about, ...details].join(', ')}.${wouldHave}`
}

const WOULD_SENTENCES = {
  deny: 'It would have been refused if its rules were enforced.',
  ask: 'It would have needed approval if its rules were enforced.',
}

/** `notes/delete_note`. A request that is not a tool call is shown with its method. */
function formatSubject({ server, tool_name, method }: CallHistory['first']): string {
  const head = canonicalName({ server, tool: '' })
  const name = tool_name.startsWith(head) ? `${server}/${tool_name.slice(head.length)}` : tool_name
  return visibleLine(method === 'tools/call' ? name : `${method} ${name}`)
}

function allowed(history: CallHistory): readonly string[] {
  return [...approval(history), endText(history.ended)]
}

function approval({ asked, answered, decided }: CallHistory): readonly string[] {
  if (asked && answered)
    return [`approved by ${visibleLine(answered.by)} after ${formatDuration(millisecondsBetween(asked, answered))}`]
  return decided?.type === 'TOOL_CALL_STARTED' && decided.approval !== undefined ? ['approved earlier'] : []
}

function endText(ended: CallEndEvent | undefined): string {
  if (ended === undefined) return 'no answer is recorded: it still runs, or the gateway was killed'
  const took = formatDuration(ended.latency_ms)
  if (ended.type === 'TOOL_CALL_FAILED' && ended.error === 'CALL_CANCELLED') return `but it was cancelled after ${took}`
  if (ended.type === 'TOOL_CALL_FAILED') return `but it failed after ${took} (${visibleLine(ended.error)})`
  return ended.success ? `answered in ${took}` : `answered in ${took} with an error of the tool itself`
}

function refused({ asked, answered, expired, decided, ended }: CallHistory): readonly string[] {
  if (decided?.type !== 'POLICY_DENIED') return ['because the gateway ended before anybody approved it', NOT_SENT]
  if (asked && answered?.answer === 'deny')
    return [
      `not approved by ${visibleLine(answered.by)} after ${formatDuration(millisecondsBetween(asked, answered))}`,
      NOT_SENT,
    ]
  if (asked && expired)
    return [`approved by nobody within ${formatDuration(millisecondsBetween(asked, expired))}`, NOT_SENT]
  // A server may have its own rules, and refuses only after it received the call.
  if (ended) return [`by its server (${visibleLine(decided.error)})`]
  const step = decided.decided_by?.step
  return [`${step ? `by the step ${step} ` : ''}(${visibleLine(decided.error)})`.trim(), NOT_SENT]
}

const NOT_SENT = 'and not sent to its server'

function cancelled({ asked, expired }: CallHistory): readonly string[] {
  return asked && expired
    ? [`after it had waited ${formatDuration(millisecondsBetween(asked, expired))} for approval`, NOT_SENT]
    : [NOT_SENT]
}

const waiting = ({ asked }: CallHistory): readonly string[] =>
  asked ? [`somebody has to approve it by ${formatLocalTime(asked.expires)}: \`sallyport approvals\``] : []

function undecided(history: CallHistory): readonly string[] {
  const { ended } = history
  if (ended?.type === 'TOOL_CALL_FAILED') return [visibleLine(ended.error)]
  if (history.asked) return [...approval(history), 'but the gateway ended before it was sent to its server']
  return ['the record of the decision was removed']
}

const DESCRIPTIONS: Readonly<Record<CallStatus, (history: CallHistory) => readonly string[]>> = {
  Allowed: allowed,
  Refused: refused,
  Cancelled: cancelled,
  Waiting: waiting,
  Failed: undecided,
}
