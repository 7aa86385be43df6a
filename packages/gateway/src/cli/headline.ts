import { canonicalName, formatDuration } from '@sallyport/core'
import { between, type CallStory, type Ended } from './call-story.ts'
import { localTime } from './local-time.ts'
import { visibleLine } from './terminal-text.ts'

/** What became of a call, in one word. */
export type Fate = 'Allowed' | 'Refused' | 'Cancelled' | 'Waiting' | 'Failed'

export function fateOf({ decided, asked, answered, expired }: CallStory): Fate {
  if (decided?.type === 'POLICY_DENIED') return decided.error === 'CALL_CANCELLED' ? 'Cancelled' : 'Refused'
  if (decided !== undefined) return 'Allowed'
  // Killed while it waited, the gateway could not refuse it; the next one could only write that it is over.
  if (expired) return 'Refused'
  return asked && !answered ? 'Waiting' : 'Failed'
}

/** The whole story in one sentence, for somebody who reads no further. */
export function headline(story: CallStory): string {
  const { first, decided } = story
  const who = visibleLine(`${first.agent} (${first.user})`)
  const about = `${subjectOf(first)} by ${who} at ${localTime(first.time)}`
  const fate = fateOf(story)
  const course = COURSES[fate](story)
  const watched = decided?.would ? ` ${WATCHED[decided.would.outcome]}` : ''
  return `${fate}: ${[about, ...course].join(', ')}.${watched}`
}

const WATCHED = {
  deny: 'It would have been refused, were its rules enforced.',
  ask: 'Somebody would have been asked, were its rules enforced.',
}

/** `notes/delete_note`; what is no tool is said with its method. */
function subjectOf({ server, tool_name, method }: CallStory['first']): string {
  const head = canonicalName({ server, tool: '' })
  const name = tool_name.startsWith(head) ? `${server}/${tool_name.slice(head.length)}` : tool_name
  return visibleLine(method === 'tools/call' ? name : `${method} ${name}`)
}

function allowed(story: CallStory): readonly string[] {
  return [...approval(story), endText(story.ended)]
}

function approval({ asked, answered, decided }: CallStory): readonly string[] {
  if (asked && answered)
    return [`approved by ${visibleLine(answered.by)} after ${formatDuration(between(asked, answered))}`]
  return decided?.type === 'TOOL_CALL_STARTED' && decided.approval !== undefined ? ['approved earlier'] : []
}

function endText(ended: Ended | undefined): string {
  if (ended === undefined) return 'no answer is recorded: it still runs, or the gateway was killed'
  const took = formatDuration(ended.latency_ms)
  if (ended.type === 'TOOL_CALL_FAILED' && ended.error === 'CALL_CANCELLED') return `but it was cancelled after ${took}`
  if (ended.type === 'TOOL_CALL_FAILED') return `but it failed after ${took} (${visibleLine(ended.error)})`
  return ended.success ? `answered in ${took}` : `answered in ${took} with an error of the tool itself`
}

function refused({ asked, answered, expired, decided, ended }: CallStory): readonly string[] {
  if (decided?.type !== 'POLICY_DENIED') return ['since the gateway ended before anybody had approved it', NOT_SENT]
  if (asked && answered?.answer === 'deny')
    return [`not approved by ${visibleLine(answered.by)} after ${formatDuration(between(asked, answered))}`, NOT_SENT]
  if (asked && expired) return [`approved by nobody within ${formatDuration(between(asked, expired))}`, NOT_SENT]
  // A server may have rules of its own, and says so only after it was asked.
  if (ended) return [`by its server (${visibleLine(decided.error)})`]
  const step = decided.decided_by?.step
  return [`${step ? `by the step ${step} ` : ''}(${visibleLine(decided.error)})`.trim(), NOT_SENT]
}

const NOT_SENT = 'and not sent to its server'

function cancelled({ asked, expired }: CallStory): readonly string[] {
  return asked && expired
    ? [`after it had waited ${formatDuration(between(asked, expired))} for approval`, NOT_SENT]
    : [NOT_SENT]
}

const waiting = ({ asked }: CallStory): readonly string[] =>
  asked ? [`somebody has to approve it until ${localTime(asked.expires)}: \`sallyport approvals\``] : []

function neverJudged(story: CallStory): readonly string[] {
  const { ended } = story
  if (ended?.type === 'TOOL_CALL_FAILED') return [visibleLine(ended.error)]
  if (story.asked) return [...approval(story), 'but the gateway ended before it was sent to its server']
  return ['the record of what was decided is no longer kept']
}

const COURSES: Readonly<Record<Fate, (story: CallStory) => readonly string[]>> = {
  Allowed: allowed,
  Refused: refused,
  Cancelled: cancelled,
  Waiting: waiting,
  Failed: neverJudged,
}
