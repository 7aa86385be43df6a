import {
  Cancellation,
  cutText,
  isJsonObject,
  type JsonObject,
  type Principal,
  SallyportError,
  visibleText,
} from '@sallyport/core'
import type { ApprovalAnswer, Approvals, PendingApproval } from '../governance/governance.ts'
import { type Client, lackedBy, type Question, type QuestionAnswer } from '../upstream/upstream.ts'
import type { Call } from './call.ts'

/** What of the arguments is shown in a client's form. */
const MOST_SHOWN = 2_000

/** A client does not get to change the rules: `always` is not for it to say. */
const CHOICES = [
  { const: 'once', title: 'Approve this call' },
  { const: 'session', title: 'Approve it for the rest of this session' },
  { const: 'deny', title: 'Do not make it' },
] as const

export interface ClientApprovalOptions {
  readonly approvals: Pick<Approvals, 'answer' | 'onChange'>
  /** Whether the client of this caller may approve what the caller does. */
  readonly mayApprove: (principal: Principal) => boolean
  readonly onBug: (error: SallyportError) => void
}

/** The person in front of the client may answer as well, where the operator has said so. The first answer counts. */
export class ClientApproval {
  readonly #options: ClientApprovalOptions

  constructor(options: ClientApprovalOptions) {
    this.#options = options
  }

  async ask({ client, principal }: Pick<Call, 'client' | 'principal'>, approval: PendingApproval): Promise<void> {
    const { approvals, mayApprove } = this.#options
    if (!client || !mayApprove(principal)) return
    const question = approvalQuestion(approval, client)
    if (lackedBy(client, question) !== undefined) return
    const stop = approvals.onChange(({ kind, approval: { id } }) => {
      if (kind === 'settled' && id === approval.id) question.cancellation.cancel('it was answered')
    })
    try {
      const said = readApproval(await client.ask(question), `${principal.user} (${principal.agent})`)
      // The right may have been taken away while the form was open.
      if (said && mayApprove(principal)) await approvals.answer(approval.id, said)
    } catch (error) {
      // Somebody else was faster, or it could not be recorded: then it still waits.
      if (!(error instanceof SallyportError)) this.#broke(error)
    } finally {
      stop()
    }
  }

  #broke(cause: unknown): void {
    this.#options.onBug(new SallyportError('INTERNAL', 'A client could not be asked.', { cause }))
  }
}

/** Codex 0.166 does not send a form off from a text that was left empty. */
const NEEDS_EVERY_FIELD = /^codex\b/

/** The question that an approval is to a client. */
function approvalQuestion(approval: PendingApproval, { clientInfo }: Client): Question {
  const answer = { type: 'string', title: 'Your answer', oneOf: CHOICES }
  const why = { type: 'string', title: 'Why (the agent is told)', maxLength: 500 }
  const properties = NEEDS_EVERY_FIELD.test(String(clientInfo?.name)) ? { answer } : { answer, why }
  const requestedSchema = { type: 'object', properties, required: ['answer'] }
  return {
    method: 'elicitation/create',
    params: { message: messageOf(approval), requestedSchema },
    cancellation: new Cancellation(),
  }
}

/** What the person in front of the client said; nothing where they closed the form. */
function readApproval(answer: QuestionAnswer, by: string): ApprovalAnswer | undefined {
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
  // Agents cut a line that is longer than their window.
  return `Approve a call of ${visibleText(tool)} on server ${server}?\n\nRisk: ${risk}.\n${reason}\n\nArguments: ${shown}`
}
