import {
  Cancellation,
  cutText,
  isJsonObject,
  type JsonObject,
  type Principal,
  prettyPrintJson,
  SallyportError,
  toVisibleText,
} from '@sallyport/core'
import type { ApprovalAnswer, Approvals, PendingApproval } from '../governance/governance.ts'
import { type Client, findMissingCapability, type Question, type QuestionAnswer } from '../upstream/upstream.ts'
import type { Call } from './call.ts'

/** Agents cut lines that are longer than their window, and a form that is too high scrolls out of view. */
const MAX_COLUMNS = 76
const MAX_LINES = 24
/** Lines for the tool's name, which its server chose, and for the reason. */
const MAX_LINES_ABOVE = 6

/** Without `always`: a client must not change the rules. */
const CHOICES = [
  { const: 'once', title: 'Approve this call' },
  { const: 'session', title: 'Approve it for the rest of this session' },
  { const: 'deny', title: 'Do not make it' },
] as const

/** The only choice if the form cannot show everything that would be sent. */
const DENY_ONLY = CHOICES.filter(({ const: choice }) => choice === 'deny')

export interface ClientApprovalOptions {
  readonly approvals: Pick<Approvals, 'answer' | 'onChange'>
  /** Whether the client of this caller may approve the caller's own calls. */
  readonly mayApprove: (principal: Principal) => boolean
  readonly onBug: (error: SallyportError) => void
}

/** Lets the person at the client answer too, if the operator allows it. The first answer is used. */
export class ClientApproval {
  readonly #options: ClientApprovalOptions

  constructor(options: ClientApprovalOptions) {
    this.#options = options
  }

  async ask({ client, principal }: Pick<Call, 'client' | 'principal'>, approval: PendingApproval): Promise<void> {
    const { approvals, mayApprove } = this.#options
    if (!client || !mayApprove(principal)) return
    const shown = showArguments(approval)
    const choices = shown === undefined ? DENY_ONLY : CHOICES
    const question = approvalQuestion(client, { message: formatMessage(approval, shown), choices })
    if (findMissingCapability(client, question) !== undefined) return
    const stop = approvals.onChange(({ kind, approval: { id } }) => {
      if (kind === 'settled' && id === approval.id) question.cancellation.cancel('it was answered')
    })
    try {
      const by = `${principal.user} (${principal.agent})`
      const reply = parseApproval(await client.ask(question), choices, by)
      // The right may have been taken away while the form was open.
      if (reply && mayApprove(principal)) await approvals.answer(approval.id, reply)
    } catch (error) {
      // Somebody else answered first, or the answer could not be recorded: then the call still waits.
      if (!(error instanceof SallyportError)) this.#reportBug(error)
    } finally {
      stop()
    }
  }

  #reportBug(cause: unknown): void {
    this.#options.onBug(new SallyportError('INTERNAL', 'A client could not be asked.', { cause }))
  }
}

/** Codex 0.166 does not submit a form while a text field is empty. */
const NEEDS_EVERY_FIELD = /^codex\b/

type Choices = readonly (typeof CHOICES)[number][]

/** The form that asks a client for approval. */
function approvalQuestion(
  { clientInfo }: Client,
  { message, choices }: { readonly message: string; readonly choices: Choices },
): Question {
  const answer = { type: 'string', title: 'Your answer', oneOf: choices }
  const why = { type: 'string', title: 'Why (the agent is told)', maxLength: 500 }
  const properties = NEEDS_EVERY_FIELD.test(String(clientInfo?.name)) ? { answer } : { answer, why }
  const requestedSchema = { type: 'object', properties, required: ['answer'] }
  return {
    method: 'elicitation/create',
    params: { message, requestedSchema },
    cancellation: new Cancellation(),
  }
}

/** The answer of the person at the client; `undefined` if they closed the form. */
function parseApproval(answer: QuestionAnswer, choices: Choices, by: string): ApprovalAnswer | undefined {
  const result = 'result' in answer && isJsonObject(answer.result) ? answer.result : {}
  if (result.action === 'decline') return { answer: 'deny', by, via: 'client' }
  const content = result.action === 'accept' && isJsonObject(result.content) ? result.content : {}
  const choice = choices.find((one) => one.const === content.answer)
  return choice && { answer: choice.const, by, via: 'client', ...readReason(content) }
}

function readReason({ why }: JsonObject): Pick<ApprovalAnswer, 'why'> {
  return typeof why === 'string' && why.trim() !== '' ? { why: cutText(why.trim(), 500) } : {}
}

function formatMessage({ tool, server, risk, reason, id }: PendingApproval, shown: string | undefined): string {
  const asked = `of ${cutText(toVisibleText(tool), MAX_COLUMNS * MAX_LINES_ABOVE)} on server ${server}`
  const why = `Risk: ${risk}.\n${printableLines(reason).slice(0, MAX_LINES_ABOVE).join('\n')}`
  if (shown !== undefined) return `Approve a call ${asked}?\n\n${why}\n\nArguments:\n${shown}`
  return [
    `A call ${asked} waits for approval. It is too long for this form, so it cannot be approved here.`,
    why,
    `To see all of it: sallyport approvals show ${id}\nTo approve it: sallyport approvals approve ${id}`,
  ].join('\n\n')
}

/**
 * The arguments in short, readable lines; `undefined` if the form has no room for them, or for the lines
 * above them.
 */
function showArguments({ arguments: args, tool, reason }: PendingApproval): string | undefined {
  const lines = printableLines(prettyPrintJson(args))
  const above = splitLine(toVisibleText(tool)).length + printableLines(reason).length
  return lines.length > MAX_LINES || above > MAX_LINES_ABOVE ? undefined : lines.join('\n')
}

/** Lines with every invisible character written out, and not wider than the form. */
const printableLines = (text: string): readonly string[] =>
  text.split('\n').flatMap((line) => splitLine(toVisibleText(line)))

function splitLine(line: string): readonly string[] {
  const parts = ['']
  let columns = 0
  for (const letter of line) {
    columns += columnsOf(letter)
    if (columns > MAX_COLUMNS) {
      parts.push('')
      columns = columnsOf(letter)
    }
    parts[parts.length - 1] += letter
  }
  return parts
}

/** Characters outside ASCII may be two columns wide: wide spaces would push the rest of a line out of view. */
const columnsOf = (letter: string): number => (letter >= ' ' && letter <= '~' ? 1 : 2)
