import { Cancellation, cutText, isJsonObject, type JsonObject, visibleText } from '@sallyport/core'
import type { ApprovalAnswer, PendingApproval } from '../governance/governance.ts'
import { type Client, lackedBy, type Question, type QuestionAnswer } from '../upstream/upstream.ts'

/** What of the arguments is shown in a client's form. */
const MOST_SHOWN = 2_000

/** A client does not get to change the rules: `always` is not for it to say. */
const CHOICES = [
  { const: 'once', title: 'Approve this call' },
  { const: 'session', title: 'Approve it for the rest of this session' },
  { const: 'deny', title: 'Do not make it' },
] as const

/** The question that an approval is to a client. */
export function approvalQuestion(approval: PendingApproval): Question {
  const requestedSchema = {
    type: 'object',
    properties: {
      answer: { type: 'string', title: 'Your answer', oneOf: CHOICES },
      why: { type: 'string', title: 'Why (the agent is told)', maxLength: 500 },
    },
    required: ['answer'],
  }
  return {
    method: 'elicitation/create',
    params: { message: messageOf(approval), requestedSchema },
    cancellation: new Cancellation(),
  }
}

/** Whether there is a form that this client can show. */
export const canShow = (client: Client, question: Question): boolean => lackedBy(client, question) === undefined

/** What the person in front of the client said; nothing where they closed the form. */
export function readApproval(answer: QuestionAnswer, by: string): ApprovalAnswer | undefined {
  const result = 'result' in answer && isJsonObject(answer.result) ? answer.result : {}
  if (result.action === 'decline') return { answer: 'deny', by, via: 'client' }
  const content = result.action === 'accept' && isJsonObject(result.content) ? result.content : {}
  const said = CHOICES.find(({ const: choice }) => choice === content.answer)
  return said && { answer: said.const, by, via: 'client', ...whyIn(content) }
}

function whyIn({ why }: JsonObject): Pick<ApprovalAnswer, 'why'> {
  return typeof why === 'string' && why.trim() !== '' ? { why: cutText(why.trim(), 500) } : {}
}

function messageOf({ tool, server, risk, reason, arguments: args, id }: PendingApproval): string {
  const printed = visibleText(JSON.stringify(args))
  const rest = printed.length - MOST_SHOWN
  const shown = rest > 0 ? `${printed.slice(0, MOST_SHOWN)}… (${rest} more: sallyport approvals show ${id})` : printed
  return `Approve a call of ${visibleText(tool)} on server ${server}? Risk: ${risk}. ${reason}\n\nArguments: ${shown}`
}
