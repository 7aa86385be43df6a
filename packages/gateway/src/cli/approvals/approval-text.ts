import { formatDuration, prettyPrintJson } from '@sallyport/core'
import { formatRuleLocation } from '../audit/rule-location.ts'
import type { AnsweredApproval, ApprovalView } from '../gateway/gateway-client.ts'
import { formatTimeAgo } from '../terminal/format-time-ago.ts'
import type { Fact } from '../terminal/table.ts'
import { visibleLine, visibleLines } from '../terminal/terminal-text.ts'

/** Everything that a person needs to know before answering. */
export function approvalFacts(approval: ApprovalView, now: Date): readonly Fact[] {
  const { agent, profile, rule } = approval
  const facts: readonly (readonly [string, string])[] = [
    ['approval', approval.id],
    ['tool', visibleLine(approval.tool)],
    ['server', visibleLine(approval.server)],
    ['agent', visibleLine(`${agent}.${profile}`)],
    ['user', visibleLine(approval.user)],
    ['session', visibleLine(approval.session)],
    ['risk', approval.risk],
    ['permission', approval.permission.join(', ')],
    ['why', visibleLine(`${approval.reason}${rule ? ` (${formatRuleLocation(rule)})` : ''}`)],
    ['asked', formatTimeAgo(new Date(approval.requestedAt), now)],
    ['expires in', formatTimeLeft(approval, now)],
    ['arguments', visibleLines(prettyPrintJson(approval.arguments))],
    ...secretFacts(approval),
    ...(approval.written === undefined
      ? []
      : [['the agent wrote', visibleLines(prettyPrintJson(approval.written))] as const]),
  ]
  return facts.map(([name, value]) => ({ name, value }))
}

function secretFacts({ secrets }: ApprovalView): readonly (readonly [string, string])[] {
  if (secrets === undefined) return []
  return [
    ['secrets', secrets === 'removed' ? 'removed: the server does not get them' : 'hidden here: the server gets them'],
  ]
}

/** Longer arguments may fill a screen. */
const MAX_SHORT_LENGTH = 1_000

/**
 * The request in one line, for long arguments that pushed all else off the screen: their author may want exactly that.
 */
export function approvalReminder(approval: ApprovalView): string | undefined {
  const { id, tool, agent, profile, risk } = approval
  const { length } = prettyPrintJson(approval.arguments)
  if (length <= MAX_SHORT_LENGTH) return undefined
  return visibleLine(`${id}: ${tool} by ${agent}.${profile}, risk ${risk}, with ${length} characters of arguments`)
}

export function formatTimeLeft({ expiresAt }: ApprovalView, now: Date): string {
  const left = new Date(expiresAt).getTime() - now.getTime()
  return left < 1_000 ? 'less than 1s' : formatDuration(Math.floor(left / 1_000) * 1_000)
}

/** A change of a file, formatted as a diff. */
export function formatChange({ file, line, removed, added }: NonNullable<AnsweredApproval['change']>): string {
  const lines = [...removed.map((text) => `- ${text}`), ...added.map((text) => `+ ${text}`)]
  return [`${visibleLine(file)}:${line}`, ...lines.map((text) => visibleLines(text))].join('\n')
}

/** The effect of an answer. */
export function formatApprovalOutcome(answered: AnsweredApproval): string {
  const { callError } = answered
  return callError === undefined
    ? answerText(answered)
    : `${answerText(answered)} It is not done: ${visibleLine(callError)}`
}

function answerText({ approval, answer, unwritten }: AnsweredApproval): string {
  const tool = visibleLine(approval.tool)
  if (unwritten !== undefined)
    return `The call of ${tool} is approved, but only this once. The rule was not written: ${visibleLine(unwritten)}`
  switch (answer) {
    case 'deny':
      return `The call of ${tool} is refused.`
    case 'once':
      return `The call of ${tool} is approved, this once.`
    case 'session':
      return `The call of ${tool} is approved, for these arguments until the end of the session.`
    case 'always':
      return `The call of ${tool} is approved, and this tool no longer needs approval.`
  }
}
