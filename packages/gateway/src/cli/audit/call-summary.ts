import { canonicalName, formatDuration } from '@sallyport/core'
import { formatLocalTime } from '../terminal/local-time.ts'
import { visibleLine } from '../terminal/terminal-text.ts'
import { type CallEndEvent, type CallHistory, millisecondsBetween } from './call-history.ts'

/** What became of a call, in one word. */
export type CallStatus = 'Allowed' | 'Refused' | 'Cancelled' | 'Waiting' | 'Failed'

export function getCallStatus({ decided, asked, answered, expired }: CallHistory): CallStatus {
  if (decided?.type === 'POLICY_DENIED') return decided.error === 'CALL_CANCELLED' ? 'Cancelled' : 'Refused'
  if (decided !== undefined) return 'Allowed'
  // Killed while it waited, the gateway could not refuse it; the next one could only write that it is over.
  if (expired) return 'Refused'
  return asked && !answered ? 'Waiting' : 'Failed'
}

/** The whole story in one sentence, for somebody who reads no further. */
export function formatCallSummary(story: CallHistory): string {
  const { first, decided } = story
  const who = visibleLine(`${first.agent} (${first.user})`)
  const about = `${subjectOf(first)} by ${who} at ${formatLocalTime(first.time)}`
  const fate = getCallStatus(story)
  const course = DESCRIPTIONS[fate](story)
  const watched = decided?.would ? ` ${WOULD_SENTENCES[decided.would.outcome]}` : ''
  return `${fate}: ${[about, ...course].join(', ')}.${watched}`
}

const WOULD_SENTENCES = {
  deny: 'It would have been refused, were its rules enforced.',
  ask: 'Somebody would have been asked, were its rules enforced.',
}

/** `notes/delete_note`; what is no tool is said with its method. */
function subjectOf({ server, tool_name, method }: CallHistory['first']): string {
  const head = canonicalName({ server, tool: '' })
  const name = tool_name.startsWith(head) ? `${server}/${tool_name.slice(head.length)}` : tool_name
  return visibleLine(method === 'tools/call' ? name : `${method} ${name}`)
}

function allowed(story: CallHistory): readonly string[] {
  return [...approval(story), endText(story.ended)]
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
  if (decided?.type !== 'POLICY_DENIED') return ['since the gateway ended before anybody had approved it', NOT_SENT]
  if (asked && answered?.answer === 'deny')
    return [
      `not approved by ${visibleLine(answered.by)} after ${formatDuration(millisecondsBetween(asked, answered))}`,
      NOT_SENT,
    ]
  if (asked && expired)
    return [`approved by nobody within ${formatDuration(millisecondsBetween(asked, expired))}`, NOT_SENT]
  // A server may have rules of its own, and says so only after it was asked.
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
  asked ? [`somebody has to approve it until ${formatLocalTime(asked.expires)}: \`sallyport approvals\``] : []

function undecided(story: CallHistory): readonly string[] {
  const { ended } = story
  if (ended?.type === 'TOOL_CALL_FAILED') return [visibleLine(ended.error)]
  if (story.asked) return [...approval(story), 'but the gateway ended before it was sent to its server']
  return ['the record of what was decided is no longer kept']
}

const DESCRIPTIONS: Readonly<Record<CallStatus, (story: CallHistory) => readonly string[]>> = {
  Allowed: allowed,
  Refused: refused,
  Cancelled: cancelled,
  Waiting: waiting,
  Failed: undecided,
}
